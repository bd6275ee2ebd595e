-- What sessions wait for.

-- name: session_threads
-- The thread of each session; none where sessions share the threads of a pool.
SELECT ID, TID FROM information_schema.PROCESSLIST WHERE @@thread_handling = 'one-thread-per-connection';

-- name: lock_holders
-- What a session waits for and who holds it. The server shows who holds a row; who holds a lock of a table or of the
-- whole server only with a plugin, so that these rows name who may: other sessions that are within a transaction, or
-- that are idle longer than this session waits. Requires PROCESS.
SELECT DISTINCT CONCAT('a lock on a row of ', REPLACE(l.lock_table, '`', '')), CONCAT('session ', b.trx_mysql_thread_id), p.USER, '',
       IF(p.COMMAND = 'Sleep', 'idle in transaction', p.COMMAND), {{age_of_transaction(b)}}
FROM information_schema.INNODB_TRX AS t
JOIN information_schema.INNODB_LOCK_WAITS AS w ON w.requesting_trx_id = t.trx_id
JOIN information_schema.INNODB_LOCKS AS l ON l.lock_id = w.requested_lock_id
JOIN information_schema.INNODB_TRX AS b ON b.trx_id = w.blocking_trx_id
LEFT JOIN information_schema.PROCESSLIST AS p ON p.ID = b.trx_mysql_thread_id
WHERE t.trx_mysql_thread_id = :number
UNION
SELECT CONCAT('a lock (', h.STATE, ')'), CONCAT('possibly session ', p.ID), p.USER, '',
       IF(p.COMMAND = 'Sleep', IF(t.trx_id IS NULL, 'idle', 'idle in transaction'), p.COMMAND),
       COALESCE({{age_of_transaction(t)}}, p.TIME)
FROM information_schema.PROCESSLIST AS h
JOIN information_schema.PROCESSLIST AS p ON p.ID <> h.ID AND p.ID <> CONNECTION_ID() AND p.USER <> 'system user'
LEFT JOIN information_schema.INNODB_TRX AS t ON t.trx_mysql_thread_id = p.ID
WHERE h.ID = :number AND h.STATE LIKE 'Waiting for%lock%' AND p.STATE NOT LIKE 'Waiting for%lock%'
  AND (t.trx_id IS NOT NULL OR p.TIME > h.TIME + 1);

-- name: lock_holders_plain
-- What a session waits for, by its state; the holder is not visible to every account.
SELECT CONCAT('a lock (', p.STATE, '; GRANT PROCESS ON *.* shows who may hold the lock)'), '', '', '', '', NULL
FROM information_schema.PROCESSLIST AS p
WHERE p.ID = :number AND p.STATE LIKE 'Waiting for%lock%';
