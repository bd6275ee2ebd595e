-- fragment: primary_key(table, name, columns)
CREATE UNIQUE INDEX {name} ON {table} {columns}
