-- lexer: backslash_text, dollar_text, backslash_backtick, backslash_double, line_comment, hash_comment, slash_comment, block_comment

-- fragment: long_text
VARCHAR

-- fragment: limit(rows)
LIMIT {rows}

-- fragment: now
now()

-- fragment: typed(value, type)
CAST({value} AS Nullable({type}))

-- fragment: dividend(amount)
CAST({amount} AS DOUBLE)

-- fragment: index_options
TYPE minmax GRANULARITY 1

-- fragment: primary_key(table, name, columns)
-- No key is unique here; rows are in the order of the load, which a data-skipping index makes use of.
CREATE INDEX {name} ON {table} {columns} TYPE minmax GRANULARITY 1
