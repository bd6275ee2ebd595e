-- What sessions wait for, by views that need no licence. The number of a session is unique in a cluster.

-- name: session_number
-- The number of this session in session_waits.
SELECT 100000 * TO_NUMBER(SYS_CONTEXT('USERENV', 'INSTANCE')) + TO_NUMBER(SYS_CONTEXT('USERENV', 'SID')) FROM dual;

-- name: session_waits
-- The sessions that work, wait, or keep a transaction open, and processes of the server that do not merely wait for
-- work: number, class and event of the wait ('running': none), table or index, the session that blocks it, and whether
-- it is this session.
SELECT 100000 * s.inst_id + s.sid,
       CASE WHEN s.state <> 'WAITING' THEN 'running'
            WHEN s.event LIKE 'enq: T%' THEN 'lock'
            WHEN s.wait_class = 'Commit' OR s.event LIKE 'log %' THEN 'log'
            WHEN s.wait_class IN ('User I/O', 'System I/O') THEN 'disk'
            WHEN s.wait_class = 'Concurrency' THEN 'latch'
            WHEN s.wait_class IN ('Idle', 'Network') THEN 'client'
            ELSE 'other' END,
       CASE WHEN s.state = 'WAITING' THEN s.event END,
       CASE WHEN s.state = 'WAITING' AND s.event LIKE 'enq: T%'
            THEN (SELECT LOWER(MIN(o.object_name)) FROM user_objects o WHERE o.object_id = s.row_wait_obj#) END,
       CASE WHEN s.blocking_session_status = 'VALID' THEN 100000 * s.blocking_instance + s.blocking_session END,
       CASE WHEN s.sid = TO_NUMBER(SYS_CONTEXT('USERENV', 'SID'))
             AND s.inst_id = TO_NUMBER(SYS_CONTEXT('USERENV', 'INSTANCE')) THEN 1 ELSE 0 END
FROM gv$session s
WHERE (s.status = 'ACTIVE' AND s.state = 'WAITING' AND s.wait_class <> 'Idle')
   OR (s.status = 'ACTIVE' AND s.state <> 'WAITING' AND s.type = 'USER')
   OR s.taddr IS NOT NULL;
