-- A workload's schema, which is the only schema of the session's search path: its content, and options of new tables.

-- name: use_tablespace
-- The tablespace of the transaction's new tables and indexes.
SELECT set_config('default_tablespace', :tablespace, true);

-- name: schema_exists
SELECT count(*) FROM pg_namespace WHERE nspname = lower(current_setting('search_path'));

-- name: list_tables
-- Tables of the schema, without partitions.
SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = lower(current_setting('search_path')) AND relkind IN ('r', 'p') AND NOT relispartition
ORDER BY relname;

-- name: list_indexes
-- Valid indexes of the schema, without those of partitions.
SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
JOIN pg_index ON indexrelid = pg_class.oid
WHERE nspname = lower(current_setting('search_path')) AND NOT relispartition AND indisvalid
ORDER BY relname;

-- name: list_routines
SELECT DISTINCT proname FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
WHERE nspname = lower(current_setting('search_path')) ORDER BY proname;

-- commands: analyze
-- Statistics for the planner, and the visibility map. The command names the schema, since no transaction can hold it.
SELECT format('VACUUM (ANALYZE) %I.%I', nspname, relname)
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE pg_class.oid = to_regclass(:table);
