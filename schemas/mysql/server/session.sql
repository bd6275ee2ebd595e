-- Queries of a session; they need no special privileges.

-- name: open_session
-- The first packet of every session with SQL of hdbkit: sets strict mode, so that invalid values are errors, and what
-- the server may have as another default: character sets, which init_connect may have set, no limits of results,
-- joins, sorts and changes without keys, the digits of a quotient, transactions that write and end, tables
-- with transactions, and sessions that wait for as long as it takes. Returns the maximum packet size in bytes, whether
-- LOAD DATA LOCAL is allowed, the version, whether the server is MariaDB, which alone executes the comment, the mode,
-- and how many conditions a statement may report, which MySQL lets no ordinary account change.
SET NAMES utf8mb4;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY,PIPES_AS_CONCAT',
    autocommit = 1, wait_timeout = 31536000, completion_type = 'NO_CHAIN',
    sql_select_limit = 9223372036854775807, sql_big_selects = 1, sql_safe_updates = 0,
    max_sort_length = 1024, div_precision_increment = 4, group_concat_max_len = 1048576,
    default_storage_engine = IF(@@SESSION.default_storage_engine IN ('MyISAM', 'Aria', 'MEMORY', 'CSV', 'ARCHIVE'),
                                'InnoDB', @@SESSION.default_storage_engine);
SET SESSION TRANSACTION READ WRITE;
SELECT @@max_allowed_packet, @@local_infile, VERSION(), 0 /*M!100000 + 1 */, @@SESSION.sql_mode, @@SESSION.max_error_count;

-- name: open_session_of_users
-- The first packet of a session with SQL of users: sets their mode, if it is not that of the server. Such a session, too,
-- may wait for as long as it takes, and has the driver's character set, which init_connect may have replaced.
SET SESSION sql_mode = IF(:sql_mode = 'server', @@SESSION.sql_mode, :sql_mode), autocommit = 1, wait_timeout = 31536000,
    character_set_client = 'utf8mb4', character_set_results = 'utf8mb4';
SELECT @@max_allowed_packet, @@local_infile, VERSION(), 0 /*M!100000 + 1 */, @@SESSION.sql_mode, @@SESSION.max_error_count;

-- name: set_isolation
SET SESSION transaction_isolation = :level;

-- name: set_lock_timeout
-- For row locks and for metadata locks.
SET SESSION innodb_lock_wait_timeout = :seconds, lock_wait_timeout = :seconds;

-- name: set_statement_timeout
-- For reads only; the server has no timeout for other statements.
SET SESSION max_execution_time = :milliseconds;

-- name: timeouts
-- The timeouts of this session: what each ends, its seconds, and who sets it. That of statements applies to reads; one
-- of waits that is not below the default of 50 s is left out.
SELECT e.ends, e.seconds, CASE WHEN e.seconds = e.of_server THEN 'the server' ELSE 'hdbkit or the account' END
FROM (
    SELECT 'statements' AS ends, @@SESSION.max_execution_time / 1000 AS seconds,
           @@GLOBAL.max_execution_time / 1000 AS of_server
    UNION ALL
    SELECT 'waits for a lock', IF(@@SESSION.innodb_lock_wait_timeout < 50, @@SESSION.innodb_lock_wait_timeout, 0),
           @@GLOBAL.innodb_lock_wait_timeout
) AS e
WHERE e.seconds > 0;

-- name: load_from_client
-- Tab-separated text that the client reads from a local path.
LOAD DATA LOCAL INFILE :path INTO TABLE {table} CHARACTER SET utf8mb4 ({columns});

-- name: load_by_insert
-- The beginning of an INSERT; rows are appended.
INSERT INTO {table} ({columns}) VALUES;

-- name: prepare
-- A statement with ? for each value.
PREPARE {name} FROM :text;

-- name: execute_with_variables
-- The keyword before a prepared statement's name; variables may follow, which a statement before it sets.
EXECUTE;

-- name: warnings
-- The warnings of the last statement: level, number, text.
SHOW WARNINGS;

-- name: work_of_session
-- Rows that the storage engines read, also those of temporary tables, and temporary tables that were written to files.
SELECT SUM(CASE WHEN variable_name LIKE 'Handler\_read\_%' THEN variable_value ELSE 0 END),
       NULL,
       SUM(CASE WHEN variable_name = 'Created_tmp_disk_tables' THEN variable_value ELSE 0 END)
FROM performance_schema.session_status
WHERE variable_name LIKE 'Handler\_read\_%' OR variable_name = 'Created_tmp_disk_tables';

-- name: work_of_server
-- The same, and the bytes that InnoDB read from files.
SELECT SUM(CASE WHEN variable_name LIKE 'Handler\_read\_%' THEN variable_value ELSE 0 END),
       SUM(CASE WHEN variable_name = 'Innodb_data_read' THEN variable_value ELSE 0 END),
       SUM(CASE WHEN variable_name = 'Created_tmp_disk_tables' THEN variable_value ELSE 0 END)
FROM performance_schema.session_status
WHERE variable_name LIKE 'Handler\_read\_%' OR variable_name IN ('Created_tmp_disk_tables', 'Innodb_data_read');

-- name: server_version
SELECT version();

-- name: backend
-- The number of this connection.
SELECT CONNECTION_ID();

-- name: version_comment
-- As the program mysql writes it: ProxySQL answers this text itself.
select @@version_comment limit 1;

-- name: proxysql_session
-- What ProxySQL knows of this session, as JSON; only it has this command.
PROXYSQL INTERNAL SESSION;

-- name: uptime
-- How long the server has been running, in seconds.
SHOW GLOBAL STATUS LIKE 'Uptime';

-- name: read_only
-- Whether the server accepts no changes of ordinary accounts.
SELECT @@GLOBAL.read_only;

-- name: super_read_only
-- Whether the server accepts no changes of any account.
SELECT @@GLOBAL.super_read_only;

-- name: read_only_by
-- Which setting makes the transactions of this account read-only; no row if none does.
SELECT IF(@@GLOBAL.transaction_read_only,
          'transaction_read_only is on (SET GLOBAL transaction_read_only = OFF)',
          'transaction_read_only is on in new sessions, which init_connect may set')
FROM DUAL WHERE @@SESSION.transaction_read_only;

-- name: clock
-- The server's time, in seconds since 1970.
SELECT UNIX_TIMESTAMP(NOW(6));

-- name: long_answer
-- Null where it is longer than max_allowed_packet.
SELECT REPEAT('x', :size);

-- name: encryption
-- Protocol and certificate of this connection, one per row: name, value.
SHOW SESSION STATUS WHERE Variable_name IN ('Ssl_version', 'Ssl_server_not_after');

-- name: grants
-- The privileges of this account and of its active roles, one or more per row, and what is revoked of them.
SHOW GRANTS;

-- name: granted_to
-- This account as a GRANT names it, and its database; then each routine of one of the names that it sees: database,
-- name, and whether it runs with the privileges of who calls it.
SELECT CONCAT(QUOTE(LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - CHAR_LENGTH(a.host) - 1)), '@', QUOTE(a.host)),
       DATABASE(), r.ROUTINE_SCHEMA, r.ROUTINE_NAME, r.SECURITY_TYPE = 'INVOKER'
FROM (SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', -1) AS host) AS a
LEFT JOIN information_schema.ROUTINES AS r ON FIND_IN_SET(LOWER(r.ROUTINE_NAME), :routines);

-- name: literal_databases
-- Whether GRANT takes _ and % in the name of a database as they are; else they are wildcards.
SELECT COUNT(*) FROM performance_schema.global_variables
WHERE VARIABLE_NAME = 'partial_revokes' AND VARIABLE_VALUE = 'ON';

-- name: advised_privileges
-- The privileges on everything that hdbkit uses: name, and what is missing without it.
SELECT 'PROCESS', 'deadlocks, history list length and the statistics of tables are not visible'
UNION ALL
SELECT IF(VERSION() LIKE '%MariaDB%', 'SLAVE MONITOR', 'REPLICATION CLIENT'), 'replication lag is not visible'
FROM DUAL WHERE @@GLOBAL.read_only;

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
) AS known
WHERE applies;

-- name: write_cycle
-- The setting that decides how soon the writing of changed pages follows the load, its value, and that time in seconds:
-- pages are written all the time, at a rate that is computed once per so many seconds.
SELECT 'innodb_flushing_avg_loops', @@GLOBAL.innodb_flushing_avg_loops, @@GLOBAL.innodb_flushing_avg_loops;

-- name: redo_log
-- A redo log that is so small that it disturbs runs: name, value, effect.
-- Before MySQL 8.0.30 its size is that of its files.
SELECT CASE WHEN capacity IS NULL THEN 'innodb_log_file_size x innodb_log_files_in_group'
            ELSE 'innodb_redo_log_capacity' END,
       CONCAT(ROUND(COALESCE(capacity, file_size * files) / 1048576), ' MiB'),
       'when the redo log is full, the server flushes pages at full speed'
FROM (
    SELECT MAX(CASE VARIABLE_NAME WHEN 'innodb_redo_log_capacity' THEN CAST(VARIABLE_VALUE AS DECIMAL(20)) END) AS capacity,
           MAX(CASE VARIABLE_NAME WHEN 'innodb_log_file_size' THEN CAST(VARIABLE_VALUE AS DECIMAL(20)) END) AS file_size,
           MAX(CASE VARIABLE_NAME WHEN 'innodb_log_files_in_group' THEN CAST(VARIABLE_VALUE AS DECIMAL(5)) END) AS files
    FROM performance_schema.global_variables
) AS redo_log
WHERE COALESCE(capacity, file_size * files) < 1073741824;

-- name: replica_status
-- One row on a replica. Requires REPLICATION CLIENT.
SHOW REPLICA STATUS;

-- name: process_file
-- The server's host, its data folder, and its pid file, which may be relative to the folder.
SELECT @@hostname, @@datadir, @@pid_file;

-- name: status
-- All status variables of the server, one per row; needs no privilege.
SHOW GLOBAL STATUS;

-- name: innodb_status
-- What InnoDB reports of itself, with its latest deadlock. Requires PROCESS.
SHOW ENGINE INNODB STATUS;

-- name: metrics
-- Counters that the status variables lack, with our names: history list length and deadlocks. Requires PROCESS.
SELECT CASE NAME WHEN 'lock_deadlocks' THEN 'deadlocks' ELSE 'history_list_length' END, COUNT
FROM information_schema.INNODB_METRICS
WHERE NAME IN ('lock_deadlocks', 'trx_rseg_history_len');

-- name: footprint
-- Size of this database in bytes, without cached statistics; name and size in bytes of the server's cache.
SET SESSION information_schema_stats_expiry = 0;
SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0), 'innodb_buffer_pool_size', @@innodb_buffer_pool_size
FROM information_schema.TABLES
WHERE TABLE_SCHEMA = DATABASE();

-- name: free_connections
-- Connections that the server and the account still allow; null if the account has no limit.
SELECT @@max_connections - (SELECT VARIABLE_VALUE FROM performance_schema.global_status
                            WHERE VARIABLE_NAME = 'Threads_connected'),
       CASE WHEN @@max_user_connections > 0
            THEN @@max_user_connections - (SELECT COUNT(*) FROM information_schema.PROCESSLIST
                                           WHERE USER = SUBSTRING_INDEX(CURRENT_USER(), '@', 1)) END;

-- name: statement_limit
-- The limit of prepared statements of all sessions; those in use, and those of this session.
SELECT 'max_prepared_stmt_count', @@GLOBAL.max_prepared_stmt_count,
       (SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Prepared_stmt_count'),
       (SELECT SUM(CASE VARIABLE_NAME WHEN 'Com_prepare_sql' THEN VARIABLE_VALUE ELSE -VARIABLE_VALUE END)
        FROM performance_schema.session_status WHERE VARIABLE_NAME IN ('Com_prepare_sql', 'Com_dealloc_sql'));

-- name: read_settings
-- Every setting of the server: value, default (not available: null), and whether it was set explicitly, except
-- settings that the server computes, and addresses and file locations. Settings that may contain a password are
-- excluded.
SELECT LOWER(VARIABLE_NAME), v.VARIABLE_VALUE, NULL,
       i.VARIABLE_SOURCE NOT IN ('COMPILED', 'DYNAMIC')
       AND LOWER(VARIABLE_NAME) NOT IN ('port', 'bind_address', 'socket', 'pid_file', 'datadir', 'basedir', 'tmpdir',
                                        'log_error', 'lc_messages_dir', 'server_id', 'mysqlx_port')
FROM performance_schema.global_variables AS v
JOIN performance_schema.variables_info AS i USING (VARIABLE_NAME)
WHERE LOWER(VARIABLE_NAME) NOT LIKE '%password%'
ORDER BY 1;

-- name: end_other_sessions
-- Commands that end every other session of a database, one per row.
SELECT CONCAT('KILL CONNECTION ', ID) FROM information_schema.PROCESSLIST
WHERE DB = :database_name AND ID <> CONNECTION_ID();

-- name: account
-- Whether account and database exist.
SELECT (SELECT COUNT(*) FROM mysql.user WHERE user = :role AND host = :host),
       (SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = :database);

-- name: own_account
-- The host part of this session's account, and whether it has a privilege on the database.
SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', -1),
       (SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = :database);

-- name: create_role
CREATE USER :role@:host IDENTIFIED BY :password;

-- commands: create_database
SELECT CONCAT('CREATE DATABASE `', REPLACE(:database, '`', '``'), '`');

-- commands: grant_database
-- Grants an account all privileges on a database, which is named as GRANT does.
SELECT CONCAT('GRANT ALL ON ', :level, ' TO ', QUOTE(:role), '@', QUOTE(:host));

-- commands: grant_sight
-- Lets an account read counters of the whole server and of statements, and who waits for a lock; gives no access to
-- data.
SELECT CONCAT('GRANT PROCESS ON *.* TO ', QUOTE(:role), '@', QUOTE(:host))
UNION ALL
SELECT CONCAT('GRANT SELECT ON performance_schema.', t.name, ' TO ', QUOTE(:role), '@', QUOTE(:host))
FROM (SELECT 'data_locks' AS name UNION ALL SELECT 'data_lock_waits' UNION ALL SELECT 'metadata_locks'
      UNION ALL SELECT 'events_statements_summary_by_digest' UNION ALL SELECT 'threads') AS t;

-- commands: set_in_session
-- Sets a setting until this session ends. Numbers are not quoted.
SELECT concat(
    'SET SESSION `', :name, '` = ',
    CASE WHEN :value REGEXP '^-?[0-9]+([.][0-9]+)?$' THEN :value ELSE quote(:value) END);

-- name: explain_text
-- The plan of a statement.
EXPLAIN FORMAT=TREE {statement};

-- name: explain_json
EXPLAIN FORMAT=JSON {statement};
