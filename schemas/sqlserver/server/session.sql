-- Queries of a session.

-- name: open_session
-- Statements report no numbers of rows, and an error ends its transaction.
SET NOCOUNT ON
SET XACT_ABORT ON;

-- name: begin_transaction
BEGIN TRANSACTION;

-- name: commit_transaction
COMMIT TRANSACTION;

-- name: roll_back_transaction
-- Some errors have ended the transaction already.
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;

-- commands: set_isolation
SELECT CONCAT('SET TRANSACTION ISOLATION LEVEL ', :level);

-- name: set_lock_timeout
SET LOCK_TIMEOUT {milliseconds};

-- name: parallel_hint
-- Written after each query of a session with a limit of parallel workers.
OPTION (MAXDOP {degree});

-- name: server_product
-- What decides between variants: the version of Babelfish, null on SQL Server; and whether readers of this database see
-- the version before a change instead of waiting (READ_COMMITTED_SNAPSHOT).
SELECT CAST(SERVERPROPERTY('BabelfishVersion') AS VARCHAR(50)), CAST(is_read_committed_snapshot_on AS INT)
FROM sys.databases WHERE database_id = DB_ID();

-- name: server_version
SELECT CONCAT(CAST(SERVERPROPERTY('ProductVersion') AS VARCHAR(50)), ', ', CAST(SERVERPROPERTY('Edition') AS VARCHAR(100)));

-- name: encryption
-- Whether this connection is encrypted: TRUE or FALSE. Requires VIEW SERVER STATE.
SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID;

-- name: clock
-- The server's time, in seconds since 1970.
SELECT DATEDIFF(SECOND, '2020-01-01', now) + 1577836800.0 + DATEPART(MICROSECOND, now) / 1000000.0
FROM (SELECT SYSUTCDATETIME() AS now) AS clock;

-- name: timeouts
-- That of locks is left out while it is the server's, which waits for ever.
SELECT 'waits for a lock', @@LOCK_TIMEOUT, 'hdbkit or the account' WHERE @@LOCK_TIMEOUT > 0;

-- name: read_settings
-- Every setting of the server: value in use; the server states no default.
SELECT name, CAST(value_in_use AS BIGINT), NULL, NULL, 0 FROM sys.configurations ORDER BY name;

-- commands: end_other_sessions
-- Commands that end every other session of a database, one per row.
SELECT CONCAT('KILL ', session_id) FROM sys.dm_exec_sessions
WHERE database_id = DB_ID(:database_name) AND session_id <> @@SPID AND is_user_process = 1;

-- name: account
-- Whether login and database exist.
SELECT CASE WHEN SUSER_ID(:role) IS NULL THEN 0 ELSE 1 END, CASE WHEN DB_ID(:database) IS NULL THEN 0 ELSE 1 END;

-- commands: create_role
SELECT CONCAT('CREATE LOGIN ', QUOTENAME(:role), ' WITH PASSWORD = ''', REPLACE(:password, '''', ''''''), '''');

-- commands: create_database
SELECT CONCAT('CREATE DATABASE ', QUOTENAME(:database));

-- commands: own_database
-- Makes an account the owner of a database.
SELECT CONCAT('ALTER AUTHORIZATION ON DATABASE::', QUOTENAME(:database), ' TO ', QUOTENAME(:role));

-- commands: grant_sight
-- Lets an account read counters and sessions of the whole server, and end sessions; gives no access to data. Rights on
-- the server are granted in master.
SELECT CONCAT('USE master GRANT VIEW SERVER STATE, ALTER ANY CONNECTION TO ', QUOTENAME(:role));
