-- variant: mariadb

-- name: try_snapshot_conflicts
-- From 11.6 on it is on, versions before the last ones of 10.6 and 10.11 do not know it.
SELECT @@SESSION.innodb_snapshot_isolation;
