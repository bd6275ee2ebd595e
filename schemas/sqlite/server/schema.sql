-- Tables and indexes of the database, which is the file.

-- name: list_tables
SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name;

-- name: list_indexes
SELECT name FROM sqlite_master WHERE type = 'index' AND name NOT LIKE 'sqlite_%' ORDER BY name;

-- name: list_objects
SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%';

-- name: list_unanalyzed
-- Tables that were never analyzed. Fails where no table was, since the table of the statistics is missing then.
SELECT name, 'was never analyzed' FROM sqlite_master
WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN (SELECT tbl FROM sqlite_stat1)
ORDER BY name;

-- name: analyze
ANALYZE {table};

-- name: update_statistics
ANALYZE {table};
