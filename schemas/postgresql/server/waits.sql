-- What sessions wait for.

-- name: session_number
-- The number of this session in session_waits.
SELECT pg_backend_pid();

-- name: session_waits
-- The sessions that work, wait, or keep a transaction open, and processes of the server that do not merely wait for
-- work: number, class and event of the wait ('running': none), table, the session that blocks it, and whether it is
-- this session. A log wait is one for the write-ahead log or for a standby that confirms it.
WITH row_locks AS MATERIALIZED (
    SELECT l.pid, c.relname
    FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
    WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (l.locktype = 'tuple' OR (l.locktype = 'relation' AND NOT l.granted))
)
SELECT a.pid,
       CASE WHEN a.state LIKE 'idle in transaction%' THEN 'client'
            WHEN a.wait_event IS NULL THEN 'running'
            WHEN a.wait_event_type = 'Lock' THEN 'lock'
            WHEN a.wait_event ILIKE 'WAL%' OR a.wait_event IN ('SyncRep', 'SyncRepLock') THEN 'log'
            WHEN a.wait_event_type = 'IO' THEN 'disk'
            WHEN a.wait_event_type IN ('LWLock', 'BufferPin', 'Buffer') THEN 'latch'
            WHEN a.wait_event_type = 'Client' THEN 'client'
            ELSE 'other' END,
       coalesce(a.wait_event, ''),
       CASE WHEN a.wait_event_type = 'Lock'
            THEN (SELECT l.relname FROM row_locks AS l WHERE l.pid = a.pid LIMIT 1) END,
       CASE WHEN a.wait_event_type = 'Lock' THEN (pg_blocking_pids(a.pid))[1] END,
       a.pid = pg_backend_pid()
FROM pg_stat_activity AS a
WHERE a.state IN ('active', 'idle in transaction', 'idle in transaction (aborted)', 'fastpath function call')
   OR (a.backend_type <> 'client backend' AND coalesce(a.wait_event_type, '') NOT IN ('Activity', 'Timeout', 'Extension')
       AND a.backend_type NOT LIKE '%launcher%' AND a.backend_type <> 'walsender');
