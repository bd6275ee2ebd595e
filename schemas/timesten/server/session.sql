-- Queries of a session. What needs a privilege is in advised_grants; without it that question has no answer.

-- name: set_isolation_read_committed
ALTER SESSION SET ISOLATION_LEVEL = READ COMMITTED;

-- name: set_isolation_repeatable_read
-- TimesTen has none between the two others.
ALTER SESSION SET ISOLATION_LEVEL = SERIALIZABLE;

-- name: set_isolation_serializable
-- By locks: readers and writers of a row wait for each other.
ALTER SESSION SET ISOLATION_LEVEL = SERIALIZABLE;

-- name: set_lock_timeout
-- In tenths of a second.
BEGIN
    EXECUTE IMMEDIATE 'CALL ttLockWait(' || {seconds} || '.' || {tenths} || ')';
END;
/

-- name: server_version
-- The five parts of the release; later releases name the columns differently.
SELECT * FROM sys.v$version;

-- name: free_connections
-- What the connection attribute Connections still allows.
SELECT TO_NUMBER(c.paramvalue) - (m.ds_connects - m.ds_disconnects)
FROM sys.v$configuration c, sys.monitor m
WHERE c.paramname = 'Connections' AND c.paramvalue <> '0';

-- name: timeouts
-- Those of the DSN. hdbkit sets that of locks for its own sessions on request.
SELECT CASE paramname
           WHEN 'LockWait' THEN 'waits for a lock'
           WHEN 'TransactionTimeout' THEN 'transactions'
           ELSE 'statements'
       END,
       TO_NUMBER(paramvalue) * CASE paramname WHEN 'SQLQueryTimeoutMSec' THEN 1 ELSE 1000 END,
       'the DSN (' || paramname || ')'
FROM sys.v$configuration
WHERE paramname IN ('LockWait', 'SQLQueryTimeout', 'SQLQueryTimeoutMSec', 'TransactionTimeout') AND paramvalue <> '0';

-- name: disturbing_settings
SELECT paramname, paramvalue,
       CASE paramname
           WHEN 'DurableCommits' THEN 'a commit does not wait for the log: acknowledged commits can be lost'
           ELSE 'the database is lost when it is unloaded'
       END
FROM sys.v$configuration
WHERE (paramname = 'DurableCommits' AND paramvalue = '0') OR (paramname = 'Temporary' AND paramvalue = '1');

-- name: write_cycle
SELECT 'CkptFrequency', TO_CHAR(ckptfrequency), ckptfrequency FROM sys.v$ckpt_config WHERE ckptfrequency > 0;

-- name: counters
-- Running totals since the database was loaded into memory. The server updates them without latches.
SELECT 'commits', xact_commits FROM sys.monitor
UNION ALL
SELECT 'rollbacks', xact_rollbacks FROM sys.monitor
UNION ALL
SELECT 'durable_commits', xact_d_commits FROM sys.monitor
UNION ALL
SELECT 'checkpoints', ds_checkpoints FROM sys.monitor
UNION ALL
SELECT 'checkpoint_bytes', checkpoint_bytes_written FROM sys.monitor
UNION ALL
SELECT 'log_bytes', log_bytes_to_log_buffer FROM sys.monitor
UNION ALL
SELECT 'log_writes', log_fs_writes FROM sys.monitor
UNION ALL
SELECT 'log_forces', log_forces FROM sys.monitor
UNION ALL
SELECT 'log_waits', log_buffer_waits FROM sys.monitor
UNION ALL
SELECT 'deadlocks', deadlocks FROM sys.monitor
UNION ALL
SELECT 'lock_timeouts', lock_timeouts FROM sys.monitor
UNION ALL
SELECT 'lock_waits', lock_grants_wait FROM sys.monitor
UNION ALL
SELECT 'passed_through', passthrough_count FROM sys.monitor;

-- name: footprint
-- The permanent memory region, of tables and indexes.
SELECT perm_in_use_size * 1024, 'PermSize', perm_allocated_size * 1024 FROM sys.monitor;

-- name: memory_attributes
-- Sizes in MB, and the number of connections for which the database has semaphores.
SELECT paramname, TO_NUMBER(paramvalue) FROM sys.v$configuration
WHERE paramname IN ('PermSize', 'TempSize', 'LogBufMB', 'PLSQL_MEMORY_SIZE', 'Connections');

-- name: take_snapshot
-- Of the server's statistics. It is only asked for on request. Requires EXECUTE on SYS.TT_STATS.
-- parameters:
-- returns: snapshot(integer)
BEGIN
    :snapshot := TT_STATS.CAPTURE_SNAPSHOT;
END;
/

-- name: read_settings
-- The connection attributes of this connection. Passwords are left out.
SELECT paramname, paramvalue, NULL, NULL, 0 FROM sys.v$configuration
WHERE UPPER(paramname) NOT LIKE '%PWD%' AND UPPER(paramname) NOT LIKE '%WALLET%'
ORDER BY paramname;

-- name: advised_grants
-- What this account lacks: the command that grants it, and what is missing without it.
SELECT 'GRANT ' || p.privilege || ' TO ' || USER, p.effect
FROM (SELECT 'CREATE TABLE' AS privilege, 'hdbkit cannot build a schema' AS effect FROM dual
      UNION ALL
      SELECT 'CREATE PROCEDURE' AS privilege, 'hdbkit cannot create the stored routines' AS effect FROM dual
      UNION ALL
      SELECT 'CREATE SEQUENCE' AS privilege, 'hdbkit cannot create the table history' AS effect FROM dual
      UNION ALL
      SELECT 'CACHE_MANAGER' AS privilege, 'the schema option cache_groups cannot be used' AS effect FROM dual) p
WHERE NOT EXISTS (SELECT 1 FROM sys.user_sys_privs s WHERE s.privilege IN (p.privilege, 'ADMIN'))
UNION ALL
SELECT 'GRANT SELECT ON sys.' || v.name || ' TO ' || USER, v.effect
FROM (SELECT 'MONITOR' AS name, 'runs have no counters of the server, and no engine TPM' AS effect FROM dual
      UNION ALL
      SELECT 'V$CONFIGURATION' AS name, 'runs do not record the connection attributes' AS effect FROM dual
      UNION ALL
      SELECT 'V$CKPT_CONFIG' AS name, 'short runs carry no warning about checkpoints' AS effect FROM dual) v
WHERE NOT EXISTS (SELECT 1 FROM sys.user_sys_privs s WHERE s.privilege IN ('SELECT ANY TABLE', 'ADMIN'))
  AND NOT EXISTS (SELECT 1 FROM sys.all_tab_privs t
                  WHERE t.table_schema = 'SYS' AND t.table_name = v.name AND t.privilege = 'SELECT');

-- name: account
-- Whether the account exists.
SELECT COUNT(*) FROM sys.all_users WHERE username = UPPER(:role);

-- commands: create_role
-- The password is sent as text.
SELECT 'CREATE USER ' || :role || ' IDENTIFIED BY "' || REPLACE(:password, '"', '') || '"' FROM dual
UNION ALL
SELECT 'GRANT CREATE SESSION, CREATE TABLE, CREATE PROCEDURE, CREATE SEQUENCE TO ' || :role FROM dual;
