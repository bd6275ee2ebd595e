-- What sessions wait for: differences from MySQL.

-- name: session_waits
-- The sessions that work or wait: number, class and event of the wait ('running': none is known, which includes reads
-- from files), table, the session that blocks it, and whether it is this session.
SELECT p.ID,
       CASE WHEN t.trx_state = 'LOCK WAIT' OR p.STATE LIKE 'Waiting for%lock' THEN 'lock'
            WHEN p.STATE IN ('Commit', 'Commit implicit', 'Waiting for prior transaction to commit',
                             'Waiting for semi-sync ACK from slave') THEN 'log'
            WHEN p.STATE IN ('Writing to net', 'Reading from net', 'Sending data to client') THEN 'client'
            WHEN p.STATE = 'User sleep' THEN 'other'
            ELSE 'running' END,
       CASE WHEN t.trx_state = 'LOCK WAIT' THEN 'row lock'
            WHEN p.STATE LIKE 'Waiting for%'
              OR p.STATE IN ('Commit', 'Commit implicit', 'Writing to net', 'Reading from net', 'Sending data to client',
                             'User sleep') THEN p.STATE
            ELSE '' END,
       CASE WHEN t.trx_state = 'LOCK WAIT'
            THEN (SELECT REPLACE(SUBSTRING_INDEX(l.lock_table, '.', -1), '`', '') FROM information_schema.INNODB_LOCKS AS l
                  WHERE l.lock_id = t.trx_requested_lock_id LIMIT 1) END,
       CASE WHEN t.trx_state = 'LOCK WAIT'
            THEN (SELECT b.trx_mysql_thread_id FROM information_schema.INNODB_LOCK_WAITS AS w
                  JOIN information_schema.INNODB_TRX AS b ON b.trx_id = w.blocking_trx_id
                  WHERE w.requesting_trx_id = t.trx_id LIMIT 1) END,
       p.ID = CONNECTION_ID()
FROM information_schema.PROCESSLIST AS p
LEFT JOIN information_schema.INNODB_TRX AS t ON t.trx_mysql_thread_id = p.ID AND t.trx_state = 'LOCK WAIT'
WHERE p.COMMAND NOT IN ('Sleep', 'Daemon', 'Binlog Dump');

-- name: session_waits_plain
-- The same for an account that sees only its own sessions, and no row locks.
SELECT p.ID,
       CASE WHEN p.STATE LIKE 'Waiting for%lock' THEN 'lock'
            WHEN p.STATE IN ('Commit', 'Commit implicit', 'Waiting for prior transaction to commit',
                             'Waiting for semi-sync ACK from slave') THEN 'log'
            WHEN p.STATE IN ('Writing to net', 'Reading from net', 'Sending data to client') THEN 'client'
            WHEN p.STATE = 'User sleep' THEN 'other'
            ELSE 'running' END,
       CASE WHEN p.STATE LIKE 'Waiting for%'
              OR p.STATE IN ('Commit', 'Commit implicit', 'Writing to net', 'Reading from net', 'Sending data to client',
                             'User sleep') THEN p.STATE
            ELSE '' END,
       NULL,
       NULL,
       p.ID = CONNECTION_ID()
FROM information_schema.PROCESSLIST AS p
WHERE p.COMMAND NOT IN ('Sleep', 'Daemon', 'Binlog Dump');
