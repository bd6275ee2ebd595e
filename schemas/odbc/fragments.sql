-- What sources differ in besides the fragments of standard SQL. The statements of server/tries.sql find out which of the
-- variants apply to a source.

-- fragment: returning(columns)
-- Follows a statement that changes rows where its result has what became of them.

-- variant: dual
-- fragment: from_nothing
FROM DUAL

-- variant: sysdummy1
-- fragment: from_nothing
FROM SYSIBM.SYSDUMMY1

-- variant: rdb_database
-- fragment: from_nothing
FROM RDB$DATABASE

-- variant: limit
-- fragment: limit(rows)
LIMIT {rows}

-- variant: top
-- fragment: top(rows)
TOP ({rows})

-- fragment: limit(rows)
-- It stands behind SELECT.

-- variant: current_timestamp
-- fragment: now
-- May be the time of another zone.
CURRENT_TIMESTAMP

-- variant: concat
-- fragment: concat(first, second)
CONCAT({first}, {second})

-- variant: plus
-- fragment: concat(first, second)
{first} + {second}

-- variant: substring
-- fragment: substring(text, start, length)
SUBSTRING({text}, {start}, {length})

-- variant: substr
-- fragment: substring(text, start, length)
SUBSTR({text}, {start}, {length})

-- variant: untyped
-- fragment: typed(value, type)
-- Drivers state the type of each value.
{value}

-- variant: round
-- fragment: exact(amount)
ROUND({amount}, 2)

-- variant: dates_as_text
-- fragment: date_value(value)
{value}

-- fragment: date_literal(day)
{day}

-- fragment: year(day)
CAST(SUBSTR({day}, 1, 4) AS INTEGER)

-- variant: unlocked
-- fragment: for_update
-- Queries lock no rows.

-- variant: returning
-- fragment: returning(columns)
RETURNING {columns}

-- variant: datetime2
-- fragment: timestamp
DATETIME2

-- variant: datetime
-- fragment: timestamp
DATETIME

-- variant: longtext
-- fragment: long_text
LONGTEXT

-- variant: clob
-- fragment: long_text
CLOB

-- variant: text
-- fragment: long_text
TEXT

-- variant: unique_index
-- fragment: primary_key(table, name, columns)
CREATE UNIQUE INDEX {name} ON {table} {columns}

-- variant: mysql
-- lexer: backslash_text, backslash_double, backtick, spaced_comment, hash_comment, executable_comment, block_comment

-- variant: mariadb
-- lexer: backslash_text, backslash_double, backtick, spaced_comment, hash_comment, executable_comment_of_two, block_comment

-- variant: postgresql
-- lexer: text, escape_text, dollar_text, name, line_comment, nested_comment

-- variant: sqlite
-- lexer: text, name, backtick, plain_bracket, line_comment, block_comment
