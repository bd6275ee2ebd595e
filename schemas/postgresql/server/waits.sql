-- What sessions wait for.

-- name: session_number
-- The number of this session in session_waits.
SELECT pg_backend_pid();

-- name: session_threads
-- The process of each session.
SELECT pid, pid FROM pg_stat_activity WHERE backend_type = 'client backend';

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
            ELSE {{wait_class(a.wait_event_type, a.wait_event)}} END,
       coalesce(a.wait_event, ''),
       CASE WHEN a.wait_event_type = 'Lock'
            THEN (SELECT l.relname FROM row_locks AS l WHERE l.pid = a.pid LIMIT 1) END,
       CASE WHEN a.wait_event_type = 'Lock' THEN (pg_blocking_pids(a.pid))[1] END,
       a.pid = pg_backend_pid()
FROM pg_stat_activity AS a
WHERE a.state IN ('active', 'idle in transaction', 'idle in transaction (aborted)', 'fastpath function call')
   OR (a.backend_type <> 'client backend' AND coalesce(a.wait_event_type, '') NOT IN ('Activity', 'Timeout', 'Extension')
       AND a.backend_type NOT LIKE '%launcher%' AND a.backend_type <> 'walsender');

-- name: counters_of_waits
-- Milliseconds that processes waited, by class, as the extension pg_wait_sampling has counted since it was reset.
SELECT 'waited_' || w.class || '_ms',
       sum(w.count) * (SELECT setting::float8 FROM pg_settings WHERE name = 'pg_wait_sampling.profile_period')
FROM (SELECT {{wait_class(p.event_type, p.event)}} AS class, p.count
      FROM {schema}.pg_wait_sampling_profile AS p WHERE p.event_type NOT IN ('Activity', 'Client', 'Timeout', 'Extension')) AS w
GROUP BY w.class;

-- name: schema_of_waits
-- The schema of the extension pg_wait_sampling, if this database has it and the server has loaded it.
SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname = 'pg_wait_sampling'
  AND EXISTS (SELECT FROM pg_settings WHERE name = 'pg_wait_sampling.profile_period');

-- name: lock_holders
-- What a session waits for and who holds it: holder, its account, its application, its state, and the age of its
-- transaction in seconds. Number 0, or one of a pooler: this account's other sessions of hdbkit. A prepared transaction
-- has no session. A commit may wait for a standby.
WITH waiting AS MATERIALIZED (
    SELECT a.pid, a.wait_event FROM pg_stat_activity AS a
    WHERE (a.pid = :number OR (a.usename = session_user AND a.application_name LIKE 'hdbkit%'
                               AND NOT EXISTS (SELECT FROM pg_stat_activity AS s WHERE s.pid = :number)))
      AND (a.wait_event_type = 'Lock' OR a.wait_event = 'SyncRep')
), wanted AS MATERIALIZED (
    SELECT w.pid, l.relation, l.database, l.transactionid, coalesce(
        CASE WHEN l.locktype = 'advisory' THEN 'an advisory lock'
             WHEN l.relation IS NOT NULL AND l.locktype <> 'relation' THEN 'a lock on a row of ' || l.relation::regclass
             WHEN l.relation IS NOT NULL THEN 'a lock on ' || l.relation::regclass END,
        (SELECT 'a lock on a row of ' || t.relation::regclass FROM pg_locks AS t WHERE t.pid = w.pid AND t.locktype = 'tuple' LIMIT 1),
        'a lock that another transaction holds') AS what
    FROM waiting AS w JOIN pg_locks AS l ON l.pid = w.pid AND NOT l.granted
)
SELECT DISTINCT w.what, 'session ' || b.pid, a.usename, a.application_name, a.state,
       extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, a.query_start))
FROM wanted AS w CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS b (pid)
JOIN pg_stat_activity AS a ON a.pid = b.pid
UNION ALL
SELECT DISTINCT w.what, format('the prepared transaction %L', p.gid), p.owner, '', 'prepared',
       extract(epoch FROM clock_timestamp() - p.prepared)
FROM wanted AS w
JOIN pg_locks AS l ON l.pid IS NULL AND l.granted
  AND ((l.relation = w.relation AND l.database = w.database) OR l.transactionid = w.transactionid)
JOIN pg_locks AS o ON o.pid IS NULL AND o.virtualtransaction = l.virtualtransaction AND o.locktype = 'transactionid'
JOIN pg_prepared_xacts AS p ON p.transaction = o.transactionid
WHERE 0 = ANY (pg_blocking_pids(w.pid))
UNION ALL
SELECT 'a standby that confirms commits (synchronous_standby_names)', '', '', '', '', NULL
FROM waiting AS w WHERE w.wait_event = 'SyncRep';

-- name: cancel_statement
SELECT pg_cancel_backend(:number);
