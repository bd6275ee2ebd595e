-- Types decide how values are stored and read: DECIMAL_2 and DECIMAL_4 are read as decimals with so many decimals.

-- lexer: text, name, backtick, plain_bracket, line_comment, block_comment

-- fragment: decimal(precision, scale)
DECIMAL_{scale}

-- fragment: timestamp
TIMESTAMP_TEXT

-- fragment: now
strftime('%Y-%m-%d %H:%M:%f', 'now', 'localtime')

-- fragment: typed(value, type)
-- Every value carries its type.
{value}

-- fragment: exact(amount)
ROUND({amount}, 2)

-- fragment: exact_sum(amount)
-- In cents, as a sum of floating-point numbers is not exact.
SUM(CAST(ROUND({amount} * 100) AS INTEGER)) / 100.0

-- fragment: date_value(value)
-- Dates are texts.
{value}

-- fragment: date_literal(day)
{day}

-- fragment: year(day)
CAST(SUBSTR({day}, 1, 4) AS INTEGER)

-- fragment: substring(text, start, length)
SUBSTR({text}, {start}, {length})

-- fragment: limit(rows)
LIMIT {rows}

-- fragment: for_update
-- A transaction locks the whole database.

-- fragment: primary_key(table, name, columns)
-- A key cannot be added to a table; a unique index is the same to the optimizer.
CREATE UNIQUE INDEX {name} ON {table} {columns}
