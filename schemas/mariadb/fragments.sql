-- lexer: backslash_text, backslash_double, backtick, spaced_comment, hash_comment, executable_comment_of_two, block_comment

-- fragment: sessions
information_schema.PROCESSLIST

-- fragment: state_class
CASE WHEN p.STATE LIKE 'Waiting for%lock' THEN 'lock'
            WHEN p.STATE IN ('Commit', 'Commit implicit', 'Waiting for prior transaction to commit',
                             'Waiting for semi-sync ACK from slave') THEN 'log'
            WHEN p.STATE IN ('Writing to net', 'Reading from net', 'Sending data to client') THEN 'client'
            WHEN p.STATE = 'User sleep' THEN 'other'
            ELSE 'running' END

-- fragment: locked_table
(SELECT REPLACE(SUBSTRING_INDEX(l.lock_table, '.', -1), '`', '') FROM information_schema.INNODB_LOCKS AS l
                  WHERE l.lock_id = t.trx_requested_lock_id LIMIT 1)

-- fragment: blocking_session
(SELECT b.trx_mysql_thread_id FROM information_schema.INNODB_LOCK_WAITS AS w
                  JOIN information_schema.INNODB_TRX AS b ON b.trx_id = w.blocking_trx_id
                  WHERE w.requesting_trx_id = t.trx_id LIMIT 1)
