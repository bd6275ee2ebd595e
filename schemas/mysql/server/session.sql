-- What a session asks of its server; every ordinary account may.

-- name: open_session
-- The first packet of every session: what is out of range or does not fit is an error, whatever the server's own
-- mode; the largest packet in bytes, and whether rows may come from the client.
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY,PIPES_AS_CONCAT', autocommit = 1;
SELECT @@max_allowed_packet, @@local_infile;

-- name: set_isolation
SET SESSION transaction_isolation = :level;

-- name: set_lock_timeout
-- For rows, and for tables while their definition changes.
SET SESSION innodb_lock_wait_timeout = :seconds, lock_wait_timeout = :seconds;

-- name: set_statement_timeout
-- For what only reads; the server knows no timeout for anything else.
SET SESSION max_execution_time = :milliseconds;

-- name: load_from_client
-- Tab-separated text that the client reads from a path of its own.
LOAD DATA LOCAL INFILE :path INTO TABLE {table} CHARACTER SET utf8mb4 ({columns});

-- name: load_by_insert
-- The head of an INSERT; the rows follow it.
INSERT INTO {table} ({columns}) VALUES;

-- name: prepare
-- A statement with ? for each value.
PREPARE {name} FROM :text;

-- name: execute_with_variables
-- What precedes a prepared statement's name; variables may follow it, which are set by a statement before it.
EXECUTE;

-- name: warnings
-- What the last statement warned of: level, number, text.
SHOW WARNINGS;

-- name: server_version
SELECT version();

-- name: process_file
-- The folder of the data, and the file with the process id, which may be relative to it.
SELECT @@datadir, @@pid_file;

-- name: status
-- All status values of the server, one a row; no privilege is needed for them.
SHOW GLOBAL STATUS;

-- name: metrics
-- By our names, what the status does not tell: old versions of rows that are not purged yet, and deadlocks. Only an
-- account with PROCESS may see them.
SELECT CASE NAME WHEN 'lock_deadlocks' THEN 'deadlocks' ELSE 'history_list_length' END, COUNT
FROM information_schema.INNODB_METRICS
WHERE NAME IN ('lock_deadlocks', 'trx_rseg_history_len');

-- name: footprint
-- Bytes of this database, which the server would else tell as of yesterday; the setting of its own cache, and its bytes.
SET SESSION information_schema_stats_expiry = 0;
SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0), 'innodb_buffer_pool_size', @@innodb_buffer_pool_size
FROM information_schema.TABLES
WHERE TABLE_SCHEMA = DATABASE();

-- name: free_connections
-- What the server and the account still allow; null where the account has no limit.
SELECT @@max_connections - (SELECT VARIABLE_VALUE FROM performance_schema.global_status
                            WHERE VARIABLE_NAME = 'Threads_connected'),
       CASE WHEN @@max_user_connections > 0
            THEN @@max_user_connections - (SELECT COUNT(*) FROM information_schema.PROCESSLIST
                                           WHERE USER = SUBSTRING_INDEX(CURRENT_USER(), '@', 1)) END;

-- name: read_settings
-- Every setting of the server: value, default (which it does not tell), and whether somebody chose it: not what the
-- server computes or where it listens and keeps its files. Those that may hold a password are not shown.
SELECT LOWER(VARIABLE_NAME), v.VARIABLE_VALUE, NULL,
       i.VARIABLE_SOURCE NOT IN ('COMPILED', 'DYNAMIC')
       AND LOWER(VARIABLE_NAME) NOT IN ('port', 'bind_address', 'socket', 'pid_file', 'datadir', 'basedir', 'tmpdir',
                                        'log_error', 'lc_messages_dir', 'server_id', 'mysqlx_port')
FROM performance_schema.global_variables AS v
JOIN performance_schema.variables_info AS i USING (VARIABLE_NAME)
WHERE LOWER(VARIABLE_NAME) NOT LIKE '%password%'
ORDER BY 1;

-- name: end_other_sessions
-- Commands that end every other session of a database, one a row; empty where there is none.
SELECT CONCAT('KILL CONNECTION ', ID) FROM information_schema.PROCESSLIST
WHERE DB = :database_name AND ID <> CONNECTION_ID();

-- name: account
-- Whether account and database are there.
SELECT (SELECT COUNT(*) FROM mysql.user WHERE user = :role AND host = '%'),
       (SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = :database);

-- name: create_role
CREATE USER :role@'%' IDENTIFIED BY :password;

-- commands: create_database
SELECT CONCAT('CREATE DATABASE `', REPLACE(:database, '`', '``'), '`');

-- commands: grant_database
-- Gives an account a database; _ and % in its name stand for themselves.
SELECT CONCAT('GRANT ALL ON `', REPLACE(REPLACE(REPLACE(:database, '`', '``'), '_', '\\_'), '%', '\\%'), '`.* TO ',
              QUOTE(:role), '@''%''');

-- commands: grant_sight
-- Lets an account see the counts of the whole server; it reads no data by that.
SELECT CONCAT('GRANT PROCESS ON *.* TO ', QUOTE(:role), '@''%''');
