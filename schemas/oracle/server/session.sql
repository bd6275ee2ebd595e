-- Queries of a session. What needs a privilege is in advised_grants; without it that question has no answer.

-- name: set_formats
-- How texts become dates, and how numbers become texts, whatever the client's language.
ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS' NLS_NUMERIC_CHARACTERS = '.,';

-- name: set_isolation_read_committed
ALTER SESSION SET ISOLATION_LEVEL = READ COMMITTED;

-- name: set_isolation_repeatable_read
-- Reads are those of one moment, and a row that has changed since cannot be changed: that is snapshot isolation.
ALTER SESSION SET ISOLATION_LEVEL = SERIALIZABLE;

-- name: set_isolation_serializable
ALTER SESSION SET ISOLATION_LEVEL = SERIALIZABLE;

-- name: set_no_parallel_workers
ALTER SESSION DISABLE PARALLEL QUERY;

-- name: set_parallel_workers
ALTER SESSION FORCE PARALLEL QUERY PARALLEL {degree};

-- name: server_version
SELECT version_full FROM product_component_version WHERE product LIKE 'Oracle%' FETCH FIRST 1 ROWS ONLY;

-- name: pluggable_database
-- Its name; null outside of one.
SELECT CASE WHEN SYS_CONTEXT('USERENV', 'CON_ID') > 1 THEN SYS_CONTEXT('USERENV', 'CON_NAME') END FROM dual;

-- name: network_protocol
-- tcp, tcps, ipc or beq.
SELECT SYS_CONTEXT('USERENV', 'NETWORK_PROTOCOL') FROM dual;

-- name: role
SELECT CASE
           WHEN SYS_CONTEXT('USERENV', 'DATABASE_ROLE') LIKE '%STANDBY' THEN 'standby'
           WHEN SYS_CONTEXT('USERENV', 'DATABASE_ROLE') = 'TRUE CACHE' THEN 'read-only'
           ELSE 'primary'
       END
FROM dual;

-- name: free_connections
-- Processes and sessions that this instance still allows, and sessions that the account's profile does. The limit of a
-- resource is a number with blanks before it, or UNLIMITED.
SELECT (SELECT TO_NUMBER(TRIM(limit_value)) - current_utilization FROM v$resource_limit
        WHERE resource_name = 'processes' AND TRIM(limit_value) <> 'UNLIMITED'),
       (SELECT TO_NUMBER(TRIM(limit_value)) - current_utilization FROM v$resource_limit
        WHERE resource_name = 'sessions' AND TRIM(limit_value) <> 'UNLIMITED'),
       (SELECT TO_NUMBER(limit) - (SELECT COUNT(*) FROM v$session WHERE username = USER) FROM user_resource_limits
        WHERE resource_name = 'SESSIONS_PER_USER' AND limit NOT IN ('UNLIMITED', 'DEFAULT'))
FROM dual;

-- name: timeouts
-- What the profile of this account ends.
SELECT CASE resource_name WHEN 'IDLE_TIME' THEN 'idle sessions' ELSE 'sessions' END, TO_NUMBER(limit) * 60000,
       'the account (its profile, ' || resource_name || ')'
FROM user_resource_limits
WHERE resource_name IN ('IDLE_TIME', 'CONNECT_TIME') AND limit NOT IN ('UNLIMITED', 'DEFAULT');

-- name: disturbing_settings
SELECT name, value, effect
FROM (SELECT p.name, p.value,
             CASE
                 WHEN p.name = 'commit_wait' AND UPPER(p.value) = 'NOWAIT' THEN 'acknowledged commits can be lost'
                 WHEN p.name = 'commit_write' AND UPPER(p.value) LIKE '%NOWAIT%' THEN 'acknowledged commits can be lost'
                 WHEN p.name = '_disable_logging' AND p.value = 'TRUE'
                 THEN 'a failure of the instance destroys the database'
                 WHEN p.name = 'sql_trace' AND p.value = 'TRUE' THEN 'each statement is written to a trace file'
                 WHEN p.name = 'statistics_level' AND p.value = 'ALL' THEN 'each step of each statement is timed'
                 WHEN p.name = 'resource_manager_plan' AND p.value IS NOT NULL
                 THEN 'the resource manager limits sessions'
                 WHEN p.name = 'db_block_checking' AND p.value NOT IN ('FALSE', 'OFF')
                 THEN 'each change of a block is checked'
             END AS effect
      FROM v$parameter p) known
WHERE effect IS NOT NULL
UNION ALL
SELECT 'redo log files', ROUND(smallest / 1048576) || ' MiB', 'a write-heavy run switches the log file often'
FROM (SELECT MIN(bytes) AS smallest FROM v$log) files
WHERE smallest < 1073741824;

-- name: write_cycle
SELECT name, value, TO_NUMBER(value) FROM v$parameter WHERE name = 'log_checkpoint_timeout' AND value <> '0';

-- name: clock
SELECT EXTRACT(DAY FROM since) * 86400 + EXTRACT(HOUR FROM since) * 3600 + EXTRACT(MINUTE FROM since) * 60
       + EXTRACT(SECOND FROM since)
FROM (SELECT SYS_EXTRACT_UTC(SYSTIMESTAMP) - TIMESTAMP '1970-01-01 00:00:00' AS since FROM dual) elapsed;

-- name: counters
-- Running totals over all instances of a cluster, as the container of this session has them; sessions that wait for a
-- lock, and instances. No view of the Diagnostics Pack is read.
SELECT CASE name
           WHEN 'user commits' THEN 'commits'
           WHEN 'user rollbacks' THEN 'rollbacks'
           WHEN 'table scan rows gotten' THEN 'scanned_rows'
           WHEN 'redo size' THEN 'log_bytes'
           WHEN 'physical reads' THEN 'pages_read'
           WHEN 'physical writes' THEN 'pages_written'
           WHEN 'session logical reads' THEN 'page_requests'
           WHEN 'execute count' THEN 'executions'
           WHEN 'parse count (hard)' THEN 'hard_parses'
           WHEN 'enqueue deadlocks' THEN 'deadlocks'
           WHEN 'background checkpoints completed' THEN 'checkpoints'
           ELSE 'log_waits'
       END,
       SUM(value)
FROM gv$sysstat
WHERE name IN ('user commits', 'user rollbacks', 'table scan rows gotten', 'redo size', 'physical reads',
               'physical writes', 'session logical reads', 'execute count', 'parse count (hard)', 'enqueue deadlocks',
               'background checkpoints completed', 'redo log space requests')
GROUP BY name
UNION ALL
SELECT 'waiting_locks', COUNT(*) FROM gv$session WHERE event LIKE 'enq: T%' AND state = 'WAITING'
UNION ALL
SELECT 'instances', COUNT(*) FROM gv$instance
UNION ALL
SELECT 'uptime_s', (SYSDATE - MIN(startup_time)) * 86400 FROM gv$instance;

-- name: counters_of_log
-- Log switches of all instances, and what sessions waited for them.
SELECT 'log_switches', SUM(sequence#) FROM v$log WHERE status = 'CURRENT'
UNION ALL
SELECT 'waited_log_switches_ms', NVL(SUM(time_waited_micro), 0) / 1000 FROM gv$system_event
WHERE event LIKE 'log file switch%';

-- name: take_snapshot
-- Of the workload repository (AWR). It is only asked for on request: a licence of the Diagnostics Pack is needed.
-- parameters:
-- returns: snapshot(integer)
DECLARE
    packs VARCHAR2(100);
BEGIN
    SELECT value INTO packs FROM v$parameter WHERE name = 'control_management_pack_access';
    IF packs NOT LIKE 'DIAGNOSTIC%' THEN
        RAISE_APPLICATION_ERROR(-20003, 'the Diagnostics Pack is not enabled (control_management_pack_access)');
    END IF;
    :snapshot := DBMS_WORKLOAD_REPOSITORY.CREATE_SNAPSHOT();
END;
/

-- name: footprint
-- The size of the account's segments; the buffer cache, which the server sizes within sga_target.
SELECT (SELECT COALESCE(SUM(bytes), 0) FROM user_segments),
       CASE WHEN p.value = '0' THEN 'sga_target' ELSE 'db_cache_size' END, g.bytes
FROM v$sgainfo g
JOIN v$parameter p ON p.name = 'db_cache_size'
WHERE g.name = 'Buffer Cache Size';

-- name: read_settings
-- Settings with a secret in their value are left out.
SELECT name, value, NULL, default_value, CASE WHEN isdefault = 'FALSE' OR ismodified <> 'FALSE' THEN 1 ELSE 0 END
FROM v$system_parameter
WHERE name NOT LIKE '%password%' OR name = 'remote_login_passwordfile'
ORDER BY name;

-- name: advised_grants
-- What this account lacks: the command that grants it, and what is missing without it.
SELECT 'GRANT ' || p.privilege || ' TO ' || USER, p.effect
FROM (SELECT 'CREATE TABLE' AS privilege, 'hdbkit cannot build a schema' AS effect FROM dual
      UNION ALL
      SELECT 'CREATE PROCEDURE', 'hdbkit cannot create the stored routines' FROM dual
      UNION ALL
      SELECT 'CREATE CLUSTER', 'the schema option hash_clusters cannot be used' FROM dual) p
WHERE NOT EXISTS (SELECT 1 FROM session_privs s WHERE s.privilege = p.privilege)
UNION ALL
SELECT 'ALTER USER ' || USER || ' QUOTA UNLIMITED ON ' || u.default_tablespace, 'the tables have no space'
FROM user_users u
WHERE NOT EXISTS (SELECT 1 FROM session_privs s WHERE s.privilege = 'UNLIMITED TABLESPACE')
  AND NOT EXISTS (SELECT 1 FROM user_ts_quotas q WHERE q.tablespace_name = u.default_tablespace)
UNION ALL
SELECT 'GRANT SELECT ON SYS.' || v.name || ' TO ' || USER, v.effect
FROM (SELECT 'GV_$SYSSTAT' AS name, 'runs have no counters of the server, and no engine TPM' AS effect FROM dual
      UNION ALL
      SELECT 'GV_$SESSION', 'runs have no counters of the server, and no engine TPM' FROM dual
      UNION ALL
      SELECT 'GV_$INSTANCE', 'runs have no counters of the server, and no engine TPM' FROM dual
      UNION ALL
      SELECT 'GV_$SYSTEM_EVENT', 'log switches and their waits are not counted' FROM dual
      UNION ALL
      SELECT 'GV_$SQLSTATS', 'results do not state what each statement did' FROM dual
      UNION ALL
      SELECT 'V_$SESSION', 'hdbkit does not know how many connections are free' FROM dual
      UNION ALL
      SELECT 'V_$RESOURCE_LIMIT', 'hdbkit does not know how many connections are free' FROM dual
      UNION ALL
      SELECT 'V_$PARAMETER', 'settings that disturb runs are not reported' FROM dual
      UNION ALL
      SELECT 'V_$LOG', 'log switches are not counted, and settings that disturb runs are not reported' FROM dual
      UNION ALL
      SELECT 'V_$SYSTEM_PARAMETER', 'runs do not record the settings of the server' FROM dual
      UNION ALL
      SELECT 'V_$SGAINFO', 'results do not state whether the data fit into the cache' FROM dual) v
WHERE NOT EXISTS (SELECT 1 FROM all_objects o WHERE o.owner = 'SYS' AND o.object_name = v.name)
UNION ALL
SELECT 'GRANT EXECUTE ON SYS.DBMS_LOCK TO ' || USER, 'two builds of one schema can run at once, and one of them fails'
FROM dual
WHERE NOT EXISTS (SELECT 1 FROM all_objects o WHERE o.owner = 'SYS' AND o.object_name = 'DBMS_LOCK');

-- name: account
-- Whether the account exists.
SELECT COUNT(*) FROM all_users WHERE username = UPPER(:role);

-- commands: create_role
-- The password is sent as text; on another host use an encrypted connection (protocol=tcps).
SELECT 'CREATE USER ' || DBMS_ASSERT.SIMPLE_SQL_NAME(:role) || ' IDENTIFIED BY "' || REPLACE(:password, '"', '')
       || '" QUOTA UNLIMITED ON ' || p.property_value
FROM database_properties p
WHERE p.property_name = 'DEFAULT_PERMANENT_TABLESPACE'
UNION ALL
SELECT 'GRANT CREATE SESSION, CREATE TABLE, CREATE PROCEDURE, CREATE CLUSTER TO ' || DBMS_ASSERT.SIMPLE_SQL_NAME(:role)
FROM dual;

-- name: explain_text
-- The plan of a statement.
EXPLAIN PLAN FOR {statement};
SELECT plan_table_output FROM TABLE(DBMS_XPLAN.DISPLAY);

-- name: explain_json
-- The same as a list of steps.
EXPLAIN PLAN FOR {statement};
SELECT JSON_ARRAYAGG(
           JSON_OBJECT('id' VALUE id, 'parent' VALUE parent_id, 'operation' VALUE operation, 'options' VALUE options,
                       'object' VALUE object_name, 'rows' VALUE cardinality, 'cost' VALUE cost, 'bytes' VALUE bytes
                       ABSENT ON NULL)
           ORDER BY id RETURNING CLOB)
FROM plan_table
WHERE plan_id = (SELECT MAX(plan_id) FROM plan_table);
