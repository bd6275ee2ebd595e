-- What engines write differently. Statements name a fragment in double braces; an engine's own fragments.sql replaces
-- fragments by name.

-- lexer: text, name, line_comment, block_comment

-- fragment: smallint
SMALLINT

-- fragment: integer
INTEGER

-- fragment: bigint
BIGINT

-- fragment: decimal(precision, scale)
NUMERIC({precision},{scale})

-- fragment: char(length)
CHAR({length})

-- fragment: text(length)
VARCHAR({length})

-- fragment: long_text
-- A text of up to 1,000,000 characters.
VARCHAR(1000000)

-- fragment: timestamp
TIMESTAMP

-- fragment: table_options
-- Written after the columns of each table.

-- fragment: now
-- The local time at which the transaction or statement began.
LOCALTIMESTAMP

-- fragment: typed(value, type)
-- A value whose type the engine cannot infer.
CAST({value} AS {type})

-- fragment: exact(amount)
-- An amount of money that is computed: where there are no decimals, it is rounded to cents.
{amount}

-- fragment: exact_sum(amount)
-- The exact sum of amounts with two decimals.
sum({amount})

-- fragment: dividend(amount)
-- An amount that is divided, in a type whose quotient has decimals.
{amount}

-- fragment: concat(first, second)
{first} || {second}

-- fragment: substring(text, start, length)
SUBSTRING({text} FROM {start} FOR {length})

-- fragment: from_nothing
-- Follows SELECT where an engine needs a table to read from.

-- fragment: top(rows)
-- The limit of a query behind SELECT, where an engine writes it there.

-- fragment: limit(rows)
-- The limit of a query at its end.
FETCH FIRST {rows} ROWS ONLY

-- fragment: for_update
-- Locks the rows of a query.
FOR UPDATE

-- fragment: returning(columns)
-- Written after a change whose rows the driver returns (`returns_changed`).

-- fragment: index_options
-- Written after the columns of each index.

-- fragment: primary_key(table, name, columns)
ALTER TABLE {table} ADD CONSTRAINT {name} PRIMARY KEY {columns}

-- fragment: date
DATE

-- fragment: date_value(value)
-- A text or a parameter as a date.
CAST({value} AS DATE)

-- fragment: date_literal(day)
-- A text as a date.
CAST({day} AS DATE)

-- fragment: year(day)
EXTRACT(YEAR FROM {day})

-- fragment: hash_partitions(column)
-- Written after the options of a table that is created in partitions.
PARTITION BY HASH ({column})
