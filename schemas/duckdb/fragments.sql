-- lexer: text, escape_text, dollar_text, name, line_comment, nested_comment

-- fragment: long_text
VARCHAR

-- fragment: limit(rows)
LIMIT {rows}

-- fragment: primary_key(table, name, columns)
-- A unique index checks each inserted row and speeds up little; the key of an analytic table is kept by its load.
CREATE UNIQUE INDEX {name} ON {table} {columns}
