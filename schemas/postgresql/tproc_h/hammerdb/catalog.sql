-- What HammerDB created, in this account's search path.

-- name: list_tables
-- Tables without partitions.
SELECT relname FROM pg_class
WHERE relkind IN ('r', 'p') AND NOT relispartition AND pg_table_is_visible(oid)
  AND relnamespace <> 'pg_catalog'::regnamespace
ORDER BY relname;

-- name: list_keys
-- Those of them that have a primary key.
SELECT relname FROM pg_class JOIN pg_index ON indrelid = pg_class.oid
WHERE indisprimary AND NOT relispartition AND pg_table_is_visible(pg_class.oid)
ORDER BY relname;
