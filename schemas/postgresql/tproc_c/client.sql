-- name: client_lock_deliveries
-- Deliveries of a warehouse wait for each other; the routine takes the same lock.
SELECT pg_advisory_xact_lock(hashtext('tproc_c delivery'), :w_id);
