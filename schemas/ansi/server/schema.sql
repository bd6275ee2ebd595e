-- A workload's schema in the database, and the build record in it.

-- name: create_build
-- The build record: specification and loaded parts, so that a build can be resumed. The first has one row; its key is
-- there for servers that refuse tables without one.
CREATE TABLE build_spec (spec {{long_text}} NOT NULL, finished {{smallint}} NOT NULL PRIMARY KEY) {{table_options}};
CREATE TABLE build_part (part {{text(100)}} NOT NULL PRIMARY KEY, loaded {{bigint}} NOT NULL) {{table_options}};

-- name: insert_build_spec
INSERT INTO build_spec (spec, finished) VALUES (:spec, 0);

-- name: update_build_spec
-- The schema grows: it is incomplete until the missing parts are loaded.
UPDATE build_spec SET spec = :spec, finished = 0;

-- name: select_build_spec
SELECT spec FROM build_spec;

-- name: insert_build_part
INSERT INTO build_part (part, loaded) VALUES (:part, :rows);

-- name: delete_build_part
DELETE FROM build_part WHERE part = :part;

-- name: select_build_parts
SELECT part, loaded FROM build_part ORDER BY part;

-- name: finish_build
UPDATE build_spec SET finished = 1;

-- name: select_build_finished
-- 1 if the build is complete, else 0.
SELECT finished FROM build_spec;

-- name: drop_build
DROP TABLE build_part;
DROP TABLE build_spec;

-- name: drop_table
DROP TABLE {table};

-- name: empty_table
DELETE FROM {table};

-- name: insert_row
-- The beginning of an INSERT of one row, for bulk loads.
INSERT INTO {table} ({columns}) VALUES;
