-- What sessions wait for. Db2 names waits for locks and for its queues; those for files and for the log are only totals,
-- among the counters.

-- name: session_number
-- The number of this session in session_waits.
SELECT MON_GET_APPLICATION_HANDLE() FROM SYSIBM.SYSDUMMY1;

-- name: session_waits
-- The sessions that work or wait: number, class and event of the wait ('running': none is known), table, the session that
-- blocks it, and whether it is this session.
SELECT a.APPLICATION_HANDLE,
       CASE WHEN MAX(CASE WHEN a.EVENT_TYPE = 'ACQUIRE' AND a.EVENT_OBJECT = 'LOCK' THEN 1 ELSE 0 END) = 1 THEN 'lock'
            WHEN MAX(CASE WHEN a.EVENT_TYPE IN ('ACQUIRE', 'WAIT') THEN 1 ELSE 0 END) = 1 THEN 'other'
            ELSE 'running' END,
       MAX(CASE WHEN a.EVENT_TYPE IN ('ACQUIRE', 'WAIT') THEN LOWER(a.EVENT_OBJECT) ELSE '' END),
       (SELECT LOWER(MIN(t.TABNAME))
        FROM TABLE(MON_GET_APPL_LOCKWAIT(a.APPLICATION_HANDLE, -2)) AS w
        JOIN SYSCAT.TABLES AS t ON t.TBSPACEID = w.TBSP_ID AND t.TABLEID = w.TAB_FILE_ID),
       (SELECT MIN(h.HLD_APPLICATION_HANDLE) FROM TABLE(MON_GET_APPL_LOCKWAIT(a.APPLICATION_HANDLE, -2)) AS h),
       CASE WHEN a.APPLICATION_HANDLE = MON_GET_APPLICATION_HANDLE() THEN 1 ELSE 0 END
FROM TABLE(MON_GET_AGENT(CAST(NULL AS VARCHAR(128)), CAST(NULL AS VARCHAR(128)), CAST(NULL AS BIGINT), -2)) AS a
WHERE a.APPLICATION_HANDLE > 0 AND a.EVENT_STATE = 'EXECUTING'
  AND NOT (a.EVENT_TYPE = 'WAIT' AND a.EVENT_OBJECT = 'REQUEST')
GROUP BY a.APPLICATION_HANDLE;
