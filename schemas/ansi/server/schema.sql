-- A workload's schema in the database, and the build record in it.

-- name: create_schema
CREATE SCHEMA {schema};

-- name: drop_schema
-- Fails while the schema has other objects.
DROP SCHEMA {schema} RESTRICT;

-- name: create_build
-- The build record: specification and loaded parts, so that a build can be resumed.
CREATE TABLE build_spec (spec VARCHAR(1000000) NOT NULL, finished SMALLINT NOT NULL);
CREATE TABLE build_part (part VARCHAR(100) NOT NULL PRIMARY KEY, rows BIGINT NOT NULL);

-- name: insert_build_spec
INSERT INTO build_spec (spec, finished) VALUES (:spec, 0);

-- name: update_build_spec
-- The schema grows: it is incomplete until the missing parts are loaded.
UPDATE build_spec SET spec = :spec, finished = 0;

-- name: select_build_spec
SELECT spec FROM build_spec;

-- name: insert_build_part
INSERT INTO build_part (part, rows) VALUES (:part, :rows);

-- name: select_build_parts
SELECT part, rows FROM build_part ORDER BY part;

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
