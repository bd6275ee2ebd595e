-- variant: mariadb

-- name: try_snapshot_conflicts
-- On by default from 11.6 on. A server without this variable reports no conflicts.
SELECT @@SESSION.innodb_snapshot_isolation;
