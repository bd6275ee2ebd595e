-- What sessions wait for. Requires PROCESS for the sessions of other accounts.

-- name: session_number
-- The number of this session in session_waits.
SELECT CONNECTION_ID();

-- name: session_waits
-- The sessions that work or wait: number, class and event of the wait ('running': none is known, which includes reads
-- from files), table, the session that blocks it, and whether it is this session. Table and blocking session require
-- SELECT on performance_schema.data_locks and data_lock_waits.
SELECT p.ID,
       CASE WHEN t.trx_state = 'LOCK WAIT' OR p.STATE LIKE 'Waiting for%lock' THEN 'lock'
            WHEN p.STATE IN ('waiting for handler commit', 'Waiting for semi-sync ACK from replica') THEN 'log'
            WHEN p.STATE IN ('Sending to client', 'Reading from net', 'Writing to net', 'Receiving from client')
            THEN 'client'
            WHEN p.STATE = 'User sleep' THEN 'other'
            ELSE 'running' END,
       CASE WHEN t.trx_state = 'LOCK WAIT' THEN 'row lock'
            WHEN p.STATE LIKE 'Waiting for%lock'
              OR p.STATE IN ('waiting for handler commit', 'Waiting for semi-sync ACK from replica', 'Sending to client',
                             'Reading from net', 'Writing to net', 'Receiving from client', 'User sleep') THEN p.STATE
            ELSE '' END,
       CASE WHEN t.trx_state = 'LOCK WAIT'
            THEN (SELECT l.OBJECT_NAME FROM performance_schema.data_locks AS l
                  WHERE l.ENGINE_LOCK_ID = t.trx_requested_lock_id LIMIT 1) END,
       CASE WHEN t.trx_state = 'LOCK WAIT'
            THEN (SELECT b.trx_mysql_thread_id FROM performance_schema.data_lock_waits AS w
                  JOIN information_schema.INNODB_TRX AS b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID
                  WHERE w.REQUESTING_ENGINE_TRANSACTION_ID = t.trx_id LIMIT 1) END,
       p.ID = CONNECTION_ID()
FROM performance_schema.processlist AS p
LEFT JOIN information_schema.INNODB_TRX AS t ON t.trx_mysql_thread_id = p.ID AND t.trx_state = 'LOCK WAIT'
WHERE p.COMMAND NOT IN ('Sleep', 'Daemon', 'Binlog Dump', 'Binlog Dump GTID');

-- name: session_waits_plain
-- The same for an account that sees only its own sessions, and no row locks.
SELECT p.ID,
       CASE WHEN p.STATE LIKE 'Waiting for%lock' THEN 'lock'
            WHEN p.STATE IN ('waiting for handler commit', 'Waiting for semi-sync ACK from replica') THEN 'log'
            WHEN p.STATE IN ('Sending to client', 'Reading from net', 'Writing to net', 'Receiving from client')
            THEN 'client'
            WHEN p.STATE = 'User sleep' THEN 'other'
            ELSE 'running' END,
       CASE WHEN p.STATE LIKE 'Waiting for%lock'
              OR p.STATE IN ('waiting for handler commit', 'Waiting for semi-sync ACK from replica', 'Sending to client',
                             'Reading from net', 'Writing to net', 'Receiving from client', 'User sleep') THEN p.STATE
            ELSE '' END,
       NULL,
       NULL,
       p.ID = CONNECTION_ID()
FROM performance_schema.processlist AS p
WHERE p.COMMAND NOT IN ('Sleep', 'Daemon', 'Binlog Dump', 'Binlog Dump GTID');
