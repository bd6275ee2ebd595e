-- Tables and indexes of the database, which is the file.

-- name: list_tables
SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() ORDER BY table_name;

-- name: list_indexes
SELECT index_name FROM duckdb_indexes() WHERE database_name = current_database() ORDER BY index_name;

-- name: insert_arrow
-- Inserts the rows of the Arrow table that is registered as given_rows.
INSERT INTO {table} ({columns}) SELECT {columns} FROM given_rows;
