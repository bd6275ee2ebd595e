-- Queries of a session: differences from MySQL.

-- name: set_isolation
SET SESSION tx_isolation = :level;

-- name: role
-- Whether the server accepts changes; accounts with special privileges are exempt.
SELECT CASE WHEN @@read_only AND NOT EXISTS (
                SELECT * FROM information_schema.USER_PRIVILEGES
                WHERE PRIVILEGE_TYPE IN ('SUPER', 'READ ONLY ADMIN', 'READ_ONLY ADMIN')
                  AND GRANTEE = CONCAT(QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', 1)), '@',
                                       QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)))) THEN 'read-only'
            ELSE 'primary' END;

-- name: disturbing_settings
-- Settings whose values disturb runs, or make their results incomparable: name, value, effect.
SELECT name, value, effect FROM (
    SELECT 'general_log' AS name, 'on' AS value, 'each statement is written to the log' AS effect,
           @@GLOBAL.general_log AS applies
    UNION ALL
    SELECT 'long_query_time', '0', 'each statement is written to the slow query log',
           @@GLOBAL.slow_query_log AND @@GLOBAL.long_query_time = 0
    UNION ALL
    SELECT 'innodb_doublewrite', 'off', 'a failure of the host can destroy pages',
           @@GLOBAL.innodb_doublewrite IN ('OFF', '0')
    UNION ALL
    SELECT 'innodb_flush_log_at_trx_commit', @@GLOBAL.innodb_flush_log_at_trx_commit,
           'acknowledged commits can be lost', @@GLOBAL.innodb_flush_log_at_trx_commit IN (0, 2)
    UNION ALL
    SELECT 'sync_binlog', @@GLOBAL.sync_binlog, 'acknowledged commits can be missing in the binary log',
           @@GLOBAL.log_bin AND @@GLOBAL.sync_binlog <> 1
    UNION ALL
    SELECT 'innodb_log_file_size', CONCAT(ROUND(@@GLOBAL.innodb_log_file_size / 1048576), ' MiB'),
           'when the redo log is full, the server flushes pages at full speed', @@GLOBAL.innodb_log_file_size < 1073741824
) AS known
WHERE applies;

-- name: replica_status
-- One row on a replica. Requires REPLICATION CLIENT or SLAVE MONITOR.
SHOW SLAVE STATUS;

-- name: execute_with_values
-- The keyword before a prepared statement's name; values may follow directly, so that one statement suffices. Client
-- SQL takes a quarter to a third less time than as full text.
EXECUTE;

-- name: set_statement_timeout
SET SESSION max_statement_time = :milliseconds / 1000;

-- name: statement_timeout
SELECT @@SESSION.max_statement_time * 1000,
       CASE WHEN @@SESSION.max_statement_time = @@GLOBAL.max_statement_time THEN 'the server'
            ELSE 'hdbkit or the account' END;

-- name: list_unanalyzed
-- Tables whose statistics cover less than a tenth of their file, and why. Requires PROCESS.
SELECT TABLE_NAME, CONCAT('has statistics of ', ROUND((DATA_LENGTH + INDEX_LENGTH) / 1024), ' kB of data, and a file of ',
                          ROUND(FILE_SIZE / 1048576), ' MB')
FROM information_schema.TABLES JOIN information_schema.INNODB_SYS_TABLESPACES ON NAME = CONCAT(TABLE_SCHEMA, '/', TABLE_NAME)
WHERE TABLE_SCHEMA = DATABASE() AND FILE_SIZE > 2097152
  AND DATA_LENGTH + INDEX_LENGTH < FILE_SIZE / 10
ORDER BY TABLE_NAME;

-- name: footprint
-- Size of this database in bytes; name and size in bytes of the server's cache.
SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0), 'innodb_buffer_pool_size', @@innodb_buffer_pool_size
FROM information_schema.TABLES
WHERE TABLE_SCHEMA = DATABASE();

-- name: free_connections
SELECT @@max_connections - (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS
                            WHERE VARIABLE_NAME = 'THREADS_CONNECTED'),
       CASE WHEN @@max_user_connections > 0
            THEN @@max_user_connections - (SELECT COUNT(*) FROM information_schema.PROCESSLIST
                                           WHERE USER = SUBSTRING_INDEX(CURRENT_USER(), '@', 1)) END;

-- name: read_settings
-- Every setting of the server: value, default, and whether it was set explicitly, except settings that the server
-- computes, and addresses and file locations. Settings that may contain a password are excluded.
SELECT LOWER(VARIABLE_NAME), GLOBAL_VALUE, DEFAULT_VALUE,
       GLOBAL_VALUE_ORIGIN IN ('CONFIG', 'COMMAND-LINE', 'SQL')
       AND LOWER(VARIABLE_NAME) NOT IN ('port', 'bind_address', 'socket', 'pid_file', 'datadir', 'basedir', 'tmpdir',
                                        'log_error', 'lc_messages_dir', 'server_id')
FROM information_schema.SYSTEM_VARIABLES
WHERE VARIABLE_SCOPE <> 'SESSION ONLY' AND LOWER(VARIABLE_NAME) NOT LIKE '%password%'
ORDER BY 1;

-- name: create_role
-- The client computes the verifier, so that no password is sent.
CREATE USER :role@:host IDENTIFIED BY PASSWORD :verifier;
