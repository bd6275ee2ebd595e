-- Queries of a session: differences from MySQL.

-- name: redo_log
SELECT 'innodb_log_file_size', CONCAT(ROUND(@@GLOBAL.innodb_log_file_size / 1048576), ' MiB'),
       'when the redo log is full, the server flushes pages at full speed'
FROM DUAL WHERE @@GLOBAL.innodb_log_file_size < 1073741824;

-- name: timeouts
SELECT e.ends, e.seconds, CASE WHEN e.seconds = e.of_server THEN 'the server' ELSE 'hdbkit or the account' END
FROM (
    SELECT 'statements' AS ends, @@SESSION.max_statement_time AS seconds, @@GLOBAL.max_statement_time AS of_server
    UNION ALL
    SELECT 'waits for a lock', IF(@@SESSION.innodb_lock_wait_timeout < 50, @@SESSION.innodb_lock_wait_timeout, 0),
           @@GLOBAL.innodb_lock_wait_timeout
    UNION ALL
    SELECT 'idle transactions', @@SESSION.idle_transaction_timeout, @@GLOBAL.idle_transaction_timeout
    UNION ALL
    SELECT 'idle transactions that changed data', @@SESSION.idle_write_transaction_timeout,
           @@GLOBAL.idle_write_transaction_timeout
) AS e
WHERE e.seconds > 0;

-- name: work_of_session
-- Rows that the storage engines read, also those of temporary tables, and temporary tables that were written to files.
SELECT SUM(CASE WHEN variable_name LIKE 'Handler\_read\_%' THEN variable_value ELSE 0 END),
       NULL,
       SUM(CASE WHEN variable_name = 'Created_tmp_disk_tables' THEN variable_value ELSE 0 END)
FROM information_schema.SESSION_STATUS
WHERE variable_name LIKE 'Handler\_read\_%' OR variable_name = 'Created_tmp_disk_tables';

-- name: work_of_server
-- The same, and the bytes that InnoDB read from files.
SELECT SUM(CASE WHEN variable_name LIKE 'Handler\_read\_%' THEN variable_value ELSE 0 END),
       SUM(CASE WHEN variable_name = 'Innodb_data_read' THEN variable_value ELSE 0 END),
       SUM(CASE WHEN variable_name = 'Created_tmp_disk_tables' THEN variable_value ELSE 0 END)
FROM information_schema.SESSION_STATUS
WHERE variable_name LIKE 'Handler\_read\_%' OR variable_name IN ('Created_tmp_disk_tables', 'Innodb_data_read');

-- name: literal_databases
-- They are wildcards here.
SELECT 0;

-- name: read_only_by
SELECT IF(@@GLOBAL.tx_read_only, 'tx_read_only is on (SET GLOBAL tx_read_only = OFF)',
          'tx_read_only is on in new sessions, which init_connect may set')
FROM DUAL WHERE @@SESSION.tx_read_only;

-- commands: set_isolation
-- The variable tx_isolation is deprecated from 11.1 on, and its successor does not exist before.
SELECT CONCAT('SET SESSION TRANSACTION ISOLATION LEVEL ', REPLACE(:level, '-', ' '));

-- name: replica_status
-- One row on a replica. Requires REPLICATION CLIENT or SLAVE MONITOR.
SHOW SLAVE STATUS;

-- name: execute_with_values
-- The keyword before a prepared statement's name; values may follow directly, so that one statement suffices. Client
-- SQL takes a quarter to a third less time than as full text.
EXECUTE;

-- name: set_statement_timeout
SET SESSION max_statement_time = :milliseconds / 1000;

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

-- name: statement_limit
SELECT 'max_prepared_stmt_count', @@GLOBAL.max_prepared_stmt_count,
       (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'PREPARED_STMT_COUNT'),
       (SELECT SUM(CASE VARIABLE_NAME WHEN 'COM_PREPARE_SQL' THEN VARIABLE_VALUE ELSE -VARIABLE_VALUE END)
        FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME IN ('COM_PREPARE_SQL', 'COM_DEALLOC_SQL'));

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

-- name: explain_text
-- The plan of a statement; only as JSON it is in lines.
EXPLAIN FORMAT=JSON {statement};

-- commands: grant_sight
-- Lets an account read counters of the whole server and of statements; gives no access to data.
SELECT CONCAT('GRANT PROCESS ON *.* TO ', QUOTE(:role), '@', QUOTE(:host))
UNION ALL
SELECT CONCAT('GRANT SELECT ON performance_schema.events_statements_summary_by_digest TO ', QUOTE(:role), '@',
              QUOTE(:host));

-- name: snapshot_isolation
-- Whether a change of a row that changed since the snapshot was taken is an error.
SELECT @@SESSION.innodb_snapshot_isolation;
