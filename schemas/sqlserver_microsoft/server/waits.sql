-- What sessions wait for. Requires VIEW SERVER STATE for the sessions of other accounts.

-- name: session_number
-- The number of this session in session_waits.
SELECT @@SPID;

-- name: session_waits
-- The sessions that work, wait, or keep a transaction open: number, class and event of the wait ('running': none), table,
-- the session that blocks it, and whether it is this session. Of a parallel query, what it has waited for the longest.
SELECT s.session_id,
       CASE WHEN r.session_id IS NULL OR r.wait_type = 'ASYNC_NETWORK_IO' THEN 'client'
            WHEN r.wait_type IS NULL THEN 'running'
            WHEN r.wait_type LIKE 'LCK[_]%' THEN 'lock'
            WHEN r.wait_type IN ('WRITELOG', 'LOGBUFFER', 'HADR_SYNC_COMMIT', 'LOG_RATE_GOVERNOR') THEN 'log'
            WHEN r.wait_type LIKE 'PAGEIOLATCH[_]%'
              OR r.wait_type IN ('IO_COMPLETION', 'ASYNC_IO_COMPLETION', 'WRITE_COMPLETION') THEN 'disk'
            WHEN r.wait_type LIKE 'PAGELATCH[_]%' OR r.wait_type LIKE 'LATCH[_]%' THEN 'latch'
            ELSE 'other' END,
       CASE WHEN r.session_id IS NULL THEN 'open transaction' ELSE COALESCE(r.wait_type, '') END,
       CASE WHEN r.wait_type LIKE 'LCK[_]%'
            THEN COALESCE((SELECT TOP (1) OBJECT_NAME(p.object_id) FROM sys.partitions AS p WHERE p.hobt_id = w.entity),
                          OBJECT_NAME(TRY_CAST(w.entity AS INT))) END,
       NULLIF(r.blocking_session_id, 0),
       CASE WHEN s.session_id = @@SPID THEN 1 ELSE 0 END
FROM sys.dm_exec_sessions AS s
LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
OUTER APPLY (
    SELECT TOP (1) TRY_CAST(SUBSTRING(t.resource_description,
                                      CHARINDEX('associatedObjectId=', t.resource_description) + 19, 20) AS BIGINT) AS entity
    FROM sys.dm_os_waiting_tasks AS t
    WHERE t.session_id = s.session_id AND t.resource_description LIKE '%associatedObjectId=%'
    ORDER BY t.wait_duration_ms DESC) AS w
WHERE s.is_user_process = 1 AND (r.session_id IS NOT NULL OR s.open_transaction_count > 0);
