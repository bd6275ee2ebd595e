-- What HammerDB created in this account's database, in lower case. HammerDB's names are in upper case, unless the
-- server changes them.

-- name: list_tables
-- HammerDB's tables, and those of hdbkit's record of a build.
SELECT LOWER(TABLE_NAME) FROM information_schema.TABLES
WHERE TABLE_SCHEMA = DATABASE()
  AND (@@lower_case_table_names > 0 OR CAST(TABLE_NAME AS BINARY) = CAST(UPPER(TABLE_NAME) AS BINARY)
       OR TABLE_NAME LIKE 'build\_%')
ORDER BY TABLE_NAME;

-- name: list_keys
-- Those of them that have a primary key.
SELECT DISTINCT LOWER(TABLE_NAME) AS name FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME = 'PRIMARY'
  AND (@@lower_case_table_names > 0 OR CAST(TABLE_NAME AS BINARY) = CAST(UPPER(TABLE_NAME) AS BINARY))
ORDER BY name;
