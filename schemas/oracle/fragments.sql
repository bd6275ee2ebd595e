-- Oracle Database 19c and later.

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
CLOB

-- fragment: timestamp
-- To the second, in 7 bytes; the driver binds times as this type.
DATE

-- fragment: date_value(value)
-- A text or a bound date; the session sets the format of texts.
CAST({value} AS DATE)

-- fragment: hash_partitions(column)
PARTITION BY HASH ({column}) PARTITIONS {partitions}

-- fragment: wait_class(class, event)
CASE WHEN {event} LIKE 'enq: T%' THEN 'lock'
            WHEN {class} = 'Commit' OR {event} LIKE 'log %' THEN 'log'
            WHEN {class} IN ('User I/O', 'System I/O') THEN 'disk'
            WHEN {class} = 'Concurrency' THEN 'latch'
            WHEN {class} IN ('Idle', 'Network') THEN 'client'
            ELSE 'other' END

-- variant: tablespace
-- With the schema option tablespace.

-- fragment: table_options
TABLESPACE {tablespace}

-- variant: index_tablespace
-- With the schema option index_tablespace.

-- fragment: index_options
TABLESPACE {index_tablespace}

-- fragment: primary_key(table, name, columns)
ALTER TABLE {table} ADD CONSTRAINT {name} PRIMARY KEY {columns} USING INDEX TABLESPACE {index_tablespace}
