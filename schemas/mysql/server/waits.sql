-- What sessions wait for. Requires PROCESS for the sessions of other accounts.

-- name: session_number
-- The number of this session in session_waits.
SELECT CONNECTION_ID();

-- name: session_threads
-- The thread of each session; none where sessions share the threads of a pool. Requires SELECT on
-- performance_schema.threads.
SELECT PROCESSLIST_ID, THREAD_OS_ID FROM performance_schema.threads
WHERE PROCESSLIST_ID IS NOT NULL AND THREAD_OS_ID IS NOT NULL AND @@thread_handling = 'one-thread-per-connection';

-- name: session_waits
-- The sessions that work or wait: number, class and event of the wait ('running': none is known, which includes reads
-- from files), table, the session that blocks it, and whether it is this session. Table and blocking session require
-- SELECT on performance_schema.data_locks and data_lock_waits on MySQL.
SELECT p.ID,
       CASE WHEN t.trx_state = 'LOCK WAIT' THEN 'lock' ELSE {{state_class}} END,
       CASE WHEN t.trx_state = 'LOCK WAIT' THEN 'row lock' WHEN {{state_class}} <> 'running' THEN p.STATE ELSE '' END,
       CASE WHEN t.trx_state = 'LOCK WAIT' THEN {{locked_table}} END,
       CASE WHEN t.trx_state = 'LOCK WAIT' THEN {{blocking_session}} END,
       p.ID = CONNECTION_ID()
FROM {{sessions}} AS p
LEFT JOIN information_schema.INNODB_TRX AS t ON t.trx_mysql_thread_id = p.ID AND t.trx_state = 'LOCK WAIT'
WHERE {{working}};

-- name: session_waits_plain
-- The same for an account that sees only its own sessions, and no row locks.
SELECT p.ID, {{state_class}}, CASE WHEN {{state_class}} <> 'running' THEN p.STATE ELSE '' END, NULL, NULL,
       p.ID = CONNECTION_ID()
FROM {{sessions}} AS p
WHERE {{working}};

-- name: session_waits_full
-- The same with the innermost wait that performance_schema records at the moment: reads and writes of files, latches,
-- locks of tables. A condition belongs to the class of the session's state: a commit that waits for others is a log wait.
SELECT p.ID,
       CASE WHEN t.trx_state = 'LOCK WAIT' OR p.event LIKE 'wait/lock/%' THEN 'lock'
            WHEN p.event LIKE 'wait/io/file/innodb/innodb_log_file%' OR p.event LIKE 'wait/io/file/sql/binlog%' THEN 'log'
            WHEN p.event LIKE 'wait/io/file/%' THEN 'disk'
            WHEN p.event LIKE 'wait/io/socket/%' THEN 'client'
            WHEN p.event LIKE 'wait/synch/%' AND p.event NOT LIKE 'wait/synch/cond/%' THEN 'latch'
            WHEN p.event IS NOT NULL AND {{state_class}} = 'running' THEN 'other'
            ELSE {{state_class}} END,
       CASE WHEN t.trx_state = 'LOCK WAIT' THEN 'row lock'
            WHEN p.event IS NOT NULL THEN SUBSTRING(SUBSTRING_INDEX(p.event, ' ', 1), 6)
            WHEN {{state_class}} <> 'running' THEN p.STATE
            ELSE '' END,
       CASE WHEN t.trx_state = 'LOCK WAIT' THEN {{locked_table}}
            WHEN p.event LIKE 'wait/lock/% %' THEN SUBSTRING_INDEX(p.event, ' ', -1) END,
       CASE WHEN t.trx_state = 'LOCK WAIT' THEN {{blocking_session}} END,
       p.ID = CONNECTION_ID()
FROM (
    SELECT p.ID, p.STATE, (
        SELECT CONCAT(e.EVENT_NAME, CASE WHEN e.EVENT_NAME LIKE 'wait/lock/%' THEN CONCAT(' ', e.OBJECT_NAME) ELSE '' END)
        FROM performance_schema.threads AS h
        JOIN performance_schema.events_waits_current AS e ON e.THREAD_ID = h.THREAD_ID
        WHERE h.PROCESSLIST_ID = p.ID AND e.END_EVENT_ID IS NULL AND e.EVENT_NAME LIKE 'wait/%'
          AND e.EVENT_NAME NOT LIKE 'wait/io/table/%'
        ORDER BY e.EVENT_ID DESC LIMIT 1) AS event
    FROM {{sessions}} AS p
    WHERE {{working}}) AS p
LEFT JOIN information_schema.INNODB_TRX AS t ON t.trx_mysql_thread_id = p.ID AND t.trx_state = 'LOCK WAIT';

-- name: full_waits_obstacle
-- Why the server cannot record waits; no row if it can.
SELECT 'performance_schema is off; set performance_schema=ON in its configuration file and restart it'
FROM (SELECT @@performance_schema AS is_on) AS s WHERE NOT s.is_on;

-- name: wait_instruments_off
-- The instruments and consumers of waits that are off.
SELECT NAME FROM performance_schema.setup_consumers
WHERE ENABLED = 'NO' AND NAME IN ('global_instrumentation', 'thread_instrumentation', 'events_waits_current')
UNION ALL
SELECT NAME FROM performance_schema.setup_instruments WHERE ENABLED = 'NO' AND NAME LIKE 'wait/%';

-- name: set_wait_instruments
-- Turns instruments and consumers on (YES) or off (NO); which of them are timed is left as it is.
UPDATE performance_schema.setup_instruments SET ENABLED = :enabled WHERE FIND_IN_SET(NAME, :names);
UPDATE performance_schema.setup_consumers SET ENABLED = :enabled WHERE FIND_IN_SET(NAME, :names);

-- name: lock_holders
-- What a session waits for and who holds it: row locks, and metadata locks, which every statement on a table takes.
-- Requires PROCESS, and SELECT on data_locks, data_lock_waits and metadata_locks of performance_schema.
SELECT DISTINCT CONCAT('a lock on a row of ', l.OBJECT_SCHEMA, '.', l.OBJECT_NAME), CONCAT('session ', b.trx_mysql_thread_id),
       p.USER, '', IF(p.COMMAND = 'Sleep', 'idle in transaction', p.COMMAND), {{age_of_transaction(b)}}
FROM information_schema.INNODB_TRX AS t
JOIN performance_schema.data_lock_waits AS w ON w.REQUESTING_ENGINE_TRANSACTION_ID = t.trx_id
JOIN performance_schema.data_locks AS l ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID
JOIN information_schema.INNODB_TRX AS b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID
LEFT JOIN {{sessions}} AS p ON p.ID = b.trx_mysql_thread_id
WHERE t.trx_mysql_thread_id = :number
UNION
SELECT CASE WHEN m.OBJECT_NAME IS NULL THEN CONCAT('the ', LOWER(m.OBJECT_TYPE), ' lock of the server')
            ELSE CONCAT('a lock on ', m.OBJECT_SCHEMA, '.', m.OBJECT_NAME) END,
       CONCAT('session ', p.ID), p.USER, '',
       IF(p.COMMAND = 'Sleep', IF(t.trx_id IS NULL, 'idle with the lock', 'idle in transaction'), p.COMMAND),
       COALESCE({{age_of_transaction(t)}}, p.TIME)
FROM performance_schema.metadata_locks AS m
JOIN performance_schema.metadata_locks AS g
  ON g.OBJECT_TYPE = m.OBJECT_TYPE AND g.OBJECT_SCHEMA <=> m.OBJECT_SCHEMA AND g.OBJECT_NAME <=> m.OBJECT_NAME
 AND g.LOCK_STATUS = 'GRANTED' AND g.OWNER_THREAD_ID <> m.OWNER_THREAD_ID
JOIN {{sessions}} AS p ON PS_THREAD_ID(p.ID) = g.OWNER_THREAD_ID
LEFT JOIN information_schema.INNODB_TRX AS t ON t.trx_mysql_thread_id = p.ID
WHERE m.LOCK_STATUS = 'PENDING' AND m.OWNER_THREAD_ID = PS_THREAD_ID(:number);

-- name: lock_holders_plain
-- What a session waits for, by its state; the holder is not visible to every account.
SELECT CONCAT('a lock (', p.STATE, '; GRANT SELECT ON performance_schema.* shows who holds the lock)'), '', '', '', '', NULL
FROM {{sessions}} AS p
WHERE p.ID = :number AND p.STATE LIKE 'Waiting for%';

-- name: cancel_statement
KILL QUERY {number};
