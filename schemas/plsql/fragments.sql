-- Engines whose routines are PL/SQL packages: Oracle Database and TimesTen.

-- lexer: q_text, text, name, line_comment, block_comment

-- fragment: from_nothing
FROM DUAL

-- fragment: now
SYSDATE

-- fragment: substring(text, start, length)
SUBSTR({text}, {start}, {length})

-- fragment: history_column
-- A further column of an INSERT into history, and its value behind the others.

-- fragment: history_value
