-- A workload's schema, which is the target's database, and the build record in it.

-- name: schema_exists
-- The target's database is the schema; the schema exists if the database is not empty.
SELECT (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE())
     + (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE());

-- name: create_schema
-- Nothing to create: the database is the schema.
DO 0;

-- name: drop_schema
-- Nothing to drop: the database stays.
DO 0;

-- name: use_storage_engine
-- The storage engine of this session's new tables.
SET SESSION default_storage_engine = :storage_engine;

-- name: create_build
-- The build record: specification and loaded parts, so that a build can be resumed.
CREATE TABLE build_spec (spec MEDIUMTEXT NOT NULL, finished SMALLINT NOT NULL) CHARACTER SET utf8mb4;
CREATE TABLE build_part (part VARCHAR(100) NOT NULL PRIMARY KEY, `rows` BIGINT NOT NULL) CHARACTER SET utf8mb4;

-- name: insert_build_part
INSERT INTO build_part (part, `rows`) VALUES (:part, :rows);

-- name: select_build_parts
SELECT part, `rows` FROM build_part ORDER BY part;

-- name: lift_timeouts
-- Let this session be idle for as long as it takes.
SET SESSION wait_timeout = 31536000;

-- name: claim_schema
-- 1 if this session is the only one that builds or drops the schema, until it ends.
SELECT GET_LOCK(CONCAT('hdbkit ', MD5(DATABASE())), 0);

-- name: list_tables
SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME;

-- name: list_indexes
-- A primary key has no name of its own here, so it gets the name of its table.
SELECT DISTINCT CASE INDEX_NAME WHEN 'PRIMARY' THEN CONCAT(TABLE_NAME, '_pk') ELSE INDEX_NAME END
FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE();

-- name: list_routines
SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE() ORDER BY ROUTINE_NAME;

-- name: list_unanalyzed
-- Tables whose statistics cover less than a tenth of their file, and why. Requires PROCESS.
SET SESSION information_schema_stats_expiry = 0;
SELECT TABLE_NAME, CONCAT('has statistics of ', ROUND((DATA_LENGTH + INDEX_LENGTH) / 1024), ' kB of data, and a file of ',
                          ROUND(FILE_SIZE / 1048576), ' MB')
FROM information_schema.TABLES JOIN information_schema.INNODB_TABLESPACES ON NAME = CONCAT(TABLE_SCHEMA, '/', TABLE_NAME)
WHERE TABLE_SCHEMA = DATABASE() AND FILE_SIZE > 2097152
  AND DATA_LENGTH + INDEX_LENGTH < FILE_SIZE / 10
ORDER BY TABLE_NAME;

-- name: update_statistics
ANALYZE TABLE {table};

-- name: grants_on_schema
-- None: an account that may use the database may name what is in it.
DO 0;

-- name: grants_on_tables
-- The command that grants this account a privilege in the database, if it lacks it on any of the tables; no row if it
-- has a role, whose privileges are not listed here. Routines run as who built them, so that those who call them use no
-- table.
SELECT CONCAT('GRANT ', :privilege, ' ON `', REPLACE(REPLACE(REPLACE(DATABASE(), '`', '``'), '_', '\\_'), '%', '\\%'),
              '`.* TO ', QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', 1)), '@',
              QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)))
FROM DUAL
WHERE :routines = '' AND :tables <> '' AND COALESCE(CURRENT_ROLE(), 'NONE') = 'NONE'
  AND NOT EXISTS (SELECT * FROM information_schema.USER_PRIVILEGES
                  WHERE REPLACE(GRANTEE, CHAR(39), '') = CURRENT_USER() AND PRIVILEGE_TYPE = :privilege)
  AND NOT EXISTS (SELECT * FROM information_schema.SCHEMA_PRIVILEGES
                  WHERE REPLACE(GRANTEE, CHAR(39), '') = CURRENT_USER() AND PRIVILEGE_TYPE = :privilege
                    AND DATABASE() LIKE TABLE_SCHEMA)
  AND (SELECT COUNT(DISTINCT TABLE_NAME)
       FROM (SELECT GRANTEE, TABLE_SCHEMA, TABLE_NAME, PRIVILEGE_TYPE FROM information_schema.TABLE_PRIVILEGES
             UNION ALL
             SELECT GRANTEE, TABLE_SCHEMA, TABLE_NAME, PRIVILEGE_TYPE FROM information_schema.COLUMN_PRIVILEGES) AS p
       WHERE REPLACE(GRANTEE, CHAR(39), '') = CURRENT_USER() AND PRIVILEGE_TYPE = :privilege
         AND TABLE_SCHEMA = DATABASE() AND FIND_IN_SET(TABLE_NAME, :tables))
      < LENGTH(:tables) - LENGTH(REPLACE(:tables, ',', '')) + 1;

-- name: grants_on_routines
-- The command that lets this account call the routines of the database, if it does not see all of those it calls.
SELECT CONCAT('GRANT EXECUTE ON `', REPLACE(REPLACE(REPLACE(DATABASE(), '`', '``'), '_', '\\_'), '%', '\\%'),
              '`.* TO ', QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', 1)), '@',
              QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)))
FROM DUAL
WHERE :routines <> '' AND COALESCE(CURRENT_ROLE(), 'NONE') = 'NONE'
  AND NOT EXISTS (SELECT * FROM information_schema.USER_PRIVILEGES
                  WHERE REPLACE(GRANTEE, CHAR(39), '') = CURRENT_USER() AND PRIVILEGE_TYPE = 'EXECUTE')
  AND (SELECT COUNT(*) FROM information_schema.ROUTINES
       WHERE ROUTINE_SCHEMA = DATABASE() AND FIND_IN_SET(ROUTINE_NAME, :routines))
      < LENGTH(:routines) - LENGTH(REPLACE(:routines, ',', '')) + 1
  AND NOT EXISTS (SELECT * FROM information_schema.SCHEMA_PRIVILEGES
                  WHERE REPLACE(GRANTEE, CHAR(39), '') = CURRENT_USER() AND PRIVILEGE_TYPE = 'EXECUTE'
                    AND DATABASE() LIKE TABLE_SCHEMA);

-- name: list_not_analyzable
-- None: the server refuses the command itself.
DO 0;

-- name: analyze
-- Statistics for the optimizer, after the load.
ANALYZE TABLE {table};
