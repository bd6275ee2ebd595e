-- A workload's schema, which is the target's database, and the build record in it.

-- name: use_storage_engine
-- The storage engine of this session's new tables.
SET SESSION default_storage_engine = :storage_engine;

-- name: lift_own_limits
-- Let this session work for as long as it takes; its statements at most for these milliseconds, 0: no limit.
SET SESSION net_read_timeout = GREATEST(@@net_read_timeout, CAST(3600 AS UNSIGNED)),
    net_write_timeout = GREATEST(@@net_write_timeout, CAST(3600 AS UNSIGNED)), lock_wait_timeout = 31536000,
    innodb_lock_wait_timeout = GREATEST(@@innodb_lock_wait_timeout, CAST(50 AS UNSIGNED)), max_execution_time = :milliseconds;

-- name: claim_schema
-- 1 if this session is the only one that builds or drops the schema, until it ends.
SELECT GET_LOCK(CONCAT('hdbkit ', SHA2(DATABASE(), 224)), 0); -- at most 64 characters

-- name: list_tables
SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME;

-- name: list_indexes
-- A primary key has no name of its own here, so it gets the name of its table.
SELECT DISTINCT CASE INDEX_NAME WHEN 'PRIMARY' THEN CONCAT(TABLE_NAME, '_pk') ELSE INDEX_NAME END
FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE();

-- name: list_routines
SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE() ORDER BY ROUTINE_NAME;

-- name: list_objects
-- Objects of the database: their kind, their name and their definition.
SELECT 'table', TABLE_NAME, CONCAT_WS(' ', TABLE_TYPE, ENGINE, ROW_FORMAT, CREATE_OPTIONS)
FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()
UNION ALL
SELECT 'column', CONCAT(TABLE_NAME, '.', COLUMN_NAME), CONCAT_WS(' ', COLUMN_TYPE, IS_NULLABLE, COLLATION_NAME, EXTRA)
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()
UNION ALL
SELECT 'index', CONCAT(TABLE_NAME, '.', INDEX_NAME),
       GROUP_CONCAT(CONCAT_WS(' ', COLUMN_NAME, SUB_PART, NON_UNIQUE, INDEX_TYPE) ORDER BY SEQ_IN_INDEX)
FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() GROUP BY TABLE_NAME, INDEX_NAME
UNION ALL
SELECT 'trigger', CONCAT(EVENT_OBJECT_TABLE, '.', TRIGGER_NAME), SHA2(ACTION_STATEMENT, 256)
FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()
UNION ALL
SELECT 'routine', ROUTINE_NAME, CONCAT_WS(' ', ROUTINE_TYPE, LAST_ALTERED, SHA2(ROUTINE_DEFINITION, 256))
FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE();

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

-- name: analyze
-- Statistics for the optimizer, after the load.
ANALYZE TABLE {table};

-- name: demanded_keys
-- The setting by which the server refuses tables without a primary key, unless it adds keys of its own.
SELECT VARIABLE_NAME FROM performance_schema.session_variables
WHERE VARIABLE_NAME = 'sql_require_primary_key' AND VARIABLE_VALUE = 'ON'
  AND NOT EXISTS (SELECT 1 FROM performance_schema.session_variables
                  WHERE VARIABLE_NAME = 'sql_generate_invisible_primary_key' AND VARIABLE_VALUE = 'ON');
