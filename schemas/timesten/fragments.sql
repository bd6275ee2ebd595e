-- Oracle TimesTen 22.1 (Classic) and later. The types are those of Oracle Database, which tables of cache groups need.

-- lexer: q_text, text, name, line_comment, block_comment

-- fragment: smallint
NUMBER(5)

-- fragment: integer
NUMBER(10)

-- fragment: bigint
NUMBER(19)

-- fragment: decimal(precision, scale)
NUMBER({precision},{scale})

-- fragment: char(length)
-- A CHAR does not equal a bound text without the blanks at its end.
VARCHAR2({length} CHAR)

-- fragment: text(length)
VARCHAR2({length} CHAR)

-- fragment: long_text
-- What the driver reads in one piece. A locator of a CLOB is not valid after its transaction.
VARCHAR2(32767)

-- fragment: timestamp
-- To the second, in 7 bytes; the driver binds times as this type.
DATE

-- fragment: date_literal(day)
DATE {day}

-- fragment: top(rows)
FIRST {rows}

-- fragment: limit(rows)

-- fragment: history_column
, h_id

-- fragment: history_value
, history_ids.NEXTVAL

-- fragment: cached
-- What a table of a cache group has behind its keys.

-- variant: awt
-- With the schema option cache_groups: awt.

-- fragment: cache_group(name)
ASYNCHRONOUS WRITETHROUGH CACHE GROUP {name}

-- variant: swt
-- With the schema option cache_groups: swt.

-- fragment: cache_group(name)
SYNCHRONOUS WRITETHROUGH CACHE GROUP {name}

-- variant: read_only
-- With the schema option cache_groups: read_only. Changes of Oracle Database arrive after so many seconds.

-- fragment: cache_group(name)
READONLY CACHE GROUP {name} AUTOREFRESH INTERVAL {cache_refresh_s} SECONDS

-- variant: dynamic_awt
-- With the schema option dynamic_cache, too: rows that were aged out are loaded again when a statement names their key.

-- fragment: cache_group(name)
DYNAMIC ASYNCHRONOUS WRITETHROUGH CACHE GROUP {name}

-- variant: dynamic_swt

-- fragment: cache_group(name)
DYNAMIC SYNCHRONOUS WRITETHROUGH CACHE GROUP {name}

-- variant: dynamic_read_only

-- fragment: cache_group(name)
DYNAMIC READONLY CACHE GROUP {name} AUTOREFRESH INTERVAL {cache_refresh_s} SECONDS

-- variant: propagate
-- With the schema option cache_groups: propagate. User-managed groups; a commit waits for Oracle Database.

-- fragment: cache_group(name)
USERMANAGED CACHE GROUP {name}

-- fragment: cached
, PROPAGATE

-- variant: flush
-- With the schema option cache_groups: flush. User-managed groups, whose changes are sent by FLUSH CACHE GROUP alone.

-- fragment: cache_group(name)
USERMANAGED CACHE GROUP {name}_flush

-- variant: dynamic_propagate

-- fragment: cache_group(name)
DYNAMIC USERMANAGED CACHE GROUP {name}

-- variant: dynamic_flush

-- fragment: cache_group(name)
DYNAMIC USERMANAGED CACHE GROUP {name}_flush
