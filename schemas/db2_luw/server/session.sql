-- Queries of a session on Db2. What needs a privilege is in advised_grants; without it that question has no answer.

-- name: set_lock_timeout
SET CURRENT LOCK TIMEOUT {seconds};

-- commands: set_parallel_workers
-- The degree of parallelism within a query.
SELECT 'SET CURRENT DEGREE = ''' || TRIM(CHAR({degree})) || '''' FROM SYSIBM.SYSDUMMY1;

-- name: reads_never_wait
-- 1 if who reads a row that an open transaction changed sees the version before (currently committed).
SELECT CASE WHEN VALUE = 'DISABLED' THEN 0 ELSE 1 END FROM SYSIBMADM.DBCFG WHERE NAME = 'cur_commit'
FETCH FIRST 1 ROWS ONLY;

-- name: server_version
-- Without the product's name, which hdbkit puts before it.
SELECT REPLACE(SERVICE_LEVEL, 'DB2 ', '') FROM TABLE(SYSPROC.ENV_GET_INST_INFO()) AS i;

-- name: role
-- A standby of HADR takes reads where it is configured to.
SELECT CASE WHEN VALUE = 'STANDBY' THEN 'standby' ELSE 'primary' END FROM SYSIBMADM.DBCFG WHERE NAME = 'hadr_db_role'
FETCH FIRST 1 ROWS ONLY;

-- name: free_connections
-- What the database still allows; null is no limit.
SELECT CASE WHEN VALUE_FLAGS = 'NONE'
            THEN INTEGER(VALUE) - (SELECT COUNT(*) FROM TABLE(MON_GET_CONNECTION(CAST(NULL AS BIGINT), -2)) AS c) END
FROM SYSIBMADM.DBCFG WHERE NAME = 'maxappls' FETCH FIRST 1 ROWS ONLY;

-- name: timeouts
-- Milliseconds after which a wait for a lock ends; the database's own where the session has none.
SELECT 'waits for a lock',
       1000 * COALESCE(CURRENT LOCK TIMEOUT, (SELECT INTEGER(VALUE) FROM SYSIBMADM.DBCFG WHERE NAME = 'locktimeout'
                                              FETCH FIRST 1 ROWS ONLY)),
       CASE WHEN CURRENT LOCK TIMEOUT IS NULL THEN 'the database (locktimeout)' ELSE 'hdbkit' END
FROM SYSIBM.SYSDUMMY1
WHERE COALESCE(CURRENT LOCK TIMEOUT, (SELECT INTEGER(VALUE) FROM SYSIBMADM.DBCFG WHERE NAME = 'locktimeout'
                                      FETCH FIRST 1 ROWS ONLY)) >= 0;

-- name: disturbing_settings
SELECT name, value, effect
FROM (SELECT NAME, VALUE,
             CASE
                 WHEN NAME = 'blk_log_dsk_ful' AND VALUE = 'YES' THEN 'a full log makes sessions wait instead of failing'
                 WHEN NAME = 'mon_act_metrics' AND VALUE = 'EXTENDED' THEN 'each statement is measured in detail'
                 WHEN NAME = 'hadr_syncmode' AND VALUE IN ('ASYNC', 'SUPERASYNC')
                      AND EXISTS (SELECT 1 FROM SYSIBMADM.DBCFG r WHERE r.NAME = 'hadr_db_role' AND r.VALUE = 'PRIMARY')
                 THEN 'a failover can lose acknowledged commits'
                 WHEN NAME = 'auto_maint' AND VALUE = 'ON' THEN 'automatic maintenance may run during a run'
             END
      FROM SYSIBMADM.DBCFG) AS known (name, value, effect)
WHERE effect IS NOT NULL;

-- name: clock
-- The server's time, in seconds since 1970.
SELECT (DAYS(now) - DAYS(DATE('1970-01-01'))) * 86400 + MIDNIGHT_SECONDS(now) + MICROSECOND(now) / 1000000.0
FROM (SELECT CURRENT TIMESTAMP - CURRENT TIMEZONE FROM SYSIBM.SYSDUMMY1) AS clock (now);

-- name: counters
-- Running totals over all members, and sessions that wait for a lock.
SELECT c.name, c.value
FROM TABLE(MON_GET_DATABASE(-2)) AS d,
     LATERAL (VALUES ('commits', d.TOTAL_APP_COMMITS), ('rollbacks', d.TOTAL_APP_ROLLBACKS),
                     ('waiting_locks', d.NUM_LOCKS_WAITING), ('deadlocks', d.DEADLOCKS),
                     ('lock_timeouts', d.LOCK_TIMEOUTS), ('lock_escalations', d.LOCK_ESCALS),
                     ('rows_read', d.ROWS_READ), ('page_requests', d.POOL_DATA_L_READS + d.POOL_INDEX_L_READS),
                     ('pages_read', d.POOL_DATA_P_READS + d.POOL_INDEX_P_READS),
                     ('pages_written', d.POOL_DATA_WRITES + d.POOL_INDEX_WRITES),
                     ('log_waits', d.LOG_BUFFER_WAIT_TIME), ('waited_lock_ms', d.LOCK_WAIT_TIME),
                     ('waited_log_ms', d.LOG_DISK_WAIT_TIME + d.LOG_BUFFER_WAIT_TIME),
                     ('waited_disk_ms', d.POOL_READ_TIME + d.DIRECT_READ_TIME)) AS c (name, value)
UNION ALL
SELECT 'log_bytes', 4096 * SUM(LOG_WRITES) FROM TABLE(MON_GET_TRANSACTION_LOG(-2)) AS l
UNION ALL
SELECT 'uptime_s', TIMESTAMPDIFF(2, CHAR(CURRENT TIMESTAMP - MIN(DB_CONN_TIME))) FROM TABLE(MON_GET_DATABASE(-2)) AS u;

-- name: summary
-- Percentages since the database was activated: of the time of requests that they waited, of the waits those for files,
-- locks and the network, of the processing that of SQL and of commits; of the reads those from buffer pools.
SELECT c.name, c.value
FROM SYSIBMADM.MON_DB_SUMMARY AS d,
     LATERAL (VALUES ('wait_percent', d.RQST_WAIT_TIME_PERCENT), ('io_wait_percent', d.IO_WAIT_TIME_PERCENT),
                     ('lock_wait_percent', d.LOCK_WAIT_TIME_PERCENT),
                     ('network_wait_percent', d.NETWORK_WAIT_TIME_PERCENT),
                     ('sql_time_percent', d.SECTION_PROC_TIME_PERCENT),
                     ('commit_time_percent', d.TRANSACT_END_PROC_TIME_PERCENT),
                     ('buffer_pool_hits_percent', d.TOTAL_BP_HIT_RATIO_PERCENT)) AS c (name, value);

-- name: footprint
-- The size of the database's table spaces; the setting of the memory that it takes, and the size of its buffer pools.
SELECT (SELECT SUM(TBSP_USED_PAGES * TBSP_PAGE_SIZE) FROM TABLE(MON_GET_TABLESPACE(NULL, -2)) AS t), 'database_memory',
       (SELECT SUM(BIGINT(p.BP_CUR_BUFFSZ) * b.PAGESIZE)
        FROM TABLE(MON_GET_BUFFERPOOL(NULL, -2)) AS p JOIN SYSCAT.BUFFERPOOLS AS b ON b.BPNAME = p.BP_NAME)
FROM SYSIBM.SYSDUMMY1;

-- name: read_settings
-- Configuration of database and instance, and registry variables, whose names are in upper case.
SELECT NAME, CASE WHEN VALUE_FLAGS = 'NONE' THEN VALUE ELSE VALUE_FLAGS || '(' || VALUE || ')' END,
       CAST(NULL AS VARCHAR(10)), CAST(NULL AS VARCHAR(100)), 0
FROM SYSIBMADM.DBCFG WHERE MEMBER = CURRENT MEMBER
UNION ALL
SELECT 'dbm.' || NAME, VALUE, CAST(NULL AS VARCHAR(10)), CAST(NULL AS VARCHAR(100)), 0 FROM SYSIBMADM.DBMCFG
UNION ALL
SELECT REG_VAR_NAME, REG_VAR_VALUE, CAST(NULL AS VARCHAR(10)), CAST(NULL AS VARCHAR(100)), 1
FROM TABLE(SYSPROC.ENV_GET_REG_VARIABLES(CURRENT MEMBER, 0)) AS r;

-- name: advised_grants
-- What this account lacks: the command that grants it, and what is missing without it.
SELECT 'GRANT ' || p.privilege || ' ON DATABASE TO USER ' || RTRIM(SESSION_USER), p.effect
FROM (VALUES ('CREATETAB', 'hdbkit cannot build a schema'),
             ('SQLADM', 'hdbkit cannot read counters and settings, and cannot update statistics')) AS p (privilege, effect)
WHERE NOT EXISTS (
    SELECT 1 FROM SYSCAT.DBAUTH AS a
    WHERE a.GRANTEE IN (SESSION_USER, 'PUBLIC')
      AND 'Y' IN (a.DBADMAUTH, CASE p.privilege WHEN 'CREATETAB' THEN a.CREATETABAUTH ELSE a.SQLADMAUTH END))
UNION ALL
SELECT 'CALL SYSPROC.SYSINSTALLOBJECTS(''EXPLAIN'', ''C'', CAST(NULL AS VARCHAR(128)), ''SYSTOOLS'')',
       'runs of TPROC-H keep no plans of their queries'
FROM SYSIBM.SYSDUMMY1
WHERE NOT EXISTS (SELECT 1 FROM SYSCAT.TABLES AS t WHERE t.TABSCHEMA = 'SYSTOOLS' AND t.TABNAME = 'EXPLAIN_OPERATOR');

-- name: explain_text
-- The plan of a statement, by the explain tables of the schema SYSTOOLS, from which it is removed at once.
EXPLAIN PLAN FOR {statement};
WITH {{plan_steps}},
tree (id, depth, path) AS (
    SELECT id, 0, CAST(DIGITS(id) AS VARCHAR(2000)) FROM steps WHERE parent IS NULL
    UNION ALL
    SELECT s.id, t.depth + 1, t.path || DIGITS(s.id) FROM tree AS t, steps AS s WHERE s.parent = t.id AND t.depth < 100)
SELECT REPEAT('  ', t.depth) || s.kind || COALESCE(' ' || s.object, '') || ' (rows ' || VARCHAR(DECIMAL(s.amount, 31, 1))
       || ', cost ' || VARCHAR(DECIMAL(s.cost, 31, 1)) || ')'
FROM tree AS t JOIN steps AS s ON s.id = t.id
ORDER BY t.path;
{{remove_plan}};

-- name: explain_json
-- The same as a list of steps.
EXPLAIN PLAN FOR {statement};
WITH {{plan_steps}}
SELECT '[' || LISTAGG(CAST('{"id": ' || VARCHAR(id) || ', "parent": ' || COALESCE(VARCHAR(parent), 'null')
                           || ', "operation": "' || kind || '", "object": ' || COALESCE('"' || object || '"', 'null')
                           || ', "rows": ' || COALESCE(VARCHAR(amount), 'null') || ', "cost": ' || VARCHAR(cost) || '}'
                           AS VARCHAR(32000)), ', ') WITHIN GROUP (ORDER BY id) || ']'
FROM steps;
{{remove_plan}};

-- commands: end_other_sessions
-- Ends every other session of this account on the database.
SELECT 'CALL SYSPROC.ADMIN_CMD(''FORCE APPLICATION (' || APPLICATION_HANDLE || ')'')'
FROM TABLE(MON_GET_CONNECTION(CAST(NULL AS BIGINT), -2)) AS c
WHERE APPLICATION_HANDLE <> MON_GET_APPLICATION_HANDLE() AND SESSION_AUTH_ID = SESSION_USER
  AND :database_name IS NOT NULL;
