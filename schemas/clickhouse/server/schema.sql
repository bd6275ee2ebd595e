-- Tables and indexes of the database, which is the folder.

-- name: list_tables
SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name;

-- name: list_indexes
SELECT name FROM system.data_skipping_indices WHERE database = currentDatabase() ORDER BY name;

-- name: create_build
-- A column of a key is never updated.
CREATE TABLE build_spec (spec {{long_text}} NOT NULL, finished {{smallint}} NOT NULL) {{table_options}};
CREATE TABLE build_part (part {{text(100)}} NOT NULL PRIMARY KEY, loaded {{bigint}} NOT NULL) {{table_options}};

-- name: update_build_spec
UPDATE build_spec SET spec = :spec, finished = 0 WHERE 1;

-- name: finish_build
UPDATE build_spec SET finished = 1 WHERE 1;

-- name: end_inserts
-- Those of loaders that were killed go on.
KILL QUERY WHERE query_kind = 'Insert' AND startsWith(query, concat('INSERT INTO ', :table, ' ')) SYNC;

-- name: empty_table
TRUNCATE TABLE {table};

-- name: insert_text
-- The beginning of an INSERT of rows as text.
INSERT INTO {table} ({columns}) FORMAT TabSeparated;

-- name: analyze
-- Merges what the load inserted, with the indexes.
OPTIMIZE TABLE {table} FINAL;
