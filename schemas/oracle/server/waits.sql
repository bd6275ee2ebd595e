-- What sessions wait for; only session_waits_full needs a licence. The number of a session is unique in a cluster.

-- name: session_number
-- The number of this session in session_waits.
SELECT 100000 * TO_NUMBER(SYS_CONTEXT('USERENV', 'INSTANCE')) + TO_NUMBER(SYS_CONTEXT('USERENV', 'SID')) FROM dual;

-- name: session_waits
-- The sessions that work, wait, or keep a transaction open, and processes of the server that do not merely wait for
-- work: number, class and event of the wait ('running': none), table or index, the session that blocks it, and whether
-- it is this session.
SELECT 100000 * s.inst_id + s.sid,
       CASE WHEN s.state <> 'WAITING' THEN 'running' ELSE {{wait_class(s.wait_class, s.event)}} END,
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

-- name: full_waits_obstacle
-- Whether ASH is off; no row if it is not.
SELECT 'control_management_pack_access is NONE, so the server keeps no active session history (ASH)' FROM v$parameter
WHERE name = 'control_management_pack_access' AND value = 'NONE';

-- name: session_waits_full
-- The active sessions of the samples that ASH took within the last interval, one a second, each with its age in seconds.
-- It needs a licence of the Diagnostics Pack. Each sample of this instance has one row for the session that asks.
SELECT 100000 * a.inst_id + a.session_id,
       CASE WHEN a.session_state = 'ON CPU' THEN 'running' ELSE {{wait_class(a.wait_class, a.event)}} END,
       CASE WHEN a.session_state = 'WAITING' THEN a.event END,
       CASE WHEN a.session_state = 'WAITING' AND a.event LIKE 'enq: T%'
            THEN (SELECT LOWER(MIN(o.object_name)) FROM user_objects o WHERE o.object_id = a.current_obj#) END,
       CASE WHEN a.blocking_session_status = 'VALID' THEN 100000 * a.blocking_inst_id + a.blocking_session END,
       0,
       EXTRACT(SECOND FROM a.ago)
FROM (SELECT h.*, CAST(SYSTIMESTAMP AS TIMESTAMP) - h.sample_time AS ago FROM gv$active_session_history h) a
WHERE a.ago < NUMTODSINTERVAL(:interval_s, 'SECOND')
  AND (a.session_state = 'WAITING' OR a.session_type = 'FOREGROUND')
UNION ALL
SELECT DISTINCT 0, 'running', NULL, NULL, NULL, 1, EXTRACT(SECOND FROM a.ago)
FROM (SELECT h.*, CAST(SYSTIMESTAMP AS TIMESTAMP) - h.sample_time AS ago FROM v$active_session_history h) a
WHERE a.ago < NUMTODSINTERVAL(:interval_s, 'SECOND');
