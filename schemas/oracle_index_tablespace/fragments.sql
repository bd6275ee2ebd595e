-- With the schema option index_tablespace.

-- fragment: index_options
TABLESPACE {index_tablespace}

-- fragment: primary_key(table, name, columns)
ALTER TABLE {table} ADD CONSTRAINT {name} PRIMARY KEY {columns} USING INDEX TABLESPACE {index_tablespace}
