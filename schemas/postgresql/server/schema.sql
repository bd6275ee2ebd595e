-- A workload's schema, which is the only schema of the session's search path: its content, and options of new tables.

-- name: use_tablespace
-- The tablespace of the transaction's new tables and indexes.
SELECT set_config('default_tablespace', :tablespace, true);

-- name: schema_exists
SELECT count(*) FROM pg_namespace WHERE nspname = lower(current_setting('search_path'));

-- name: lift_timeouts
-- Let this transaction be idle for as long as it takes; some timeouts exist from version 17 on.
SELECT set_config(name, '0', true) FROM pg_settings
WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout');

-- name: claim_schema
-- Whether this transaction is the only one that builds or drops the schema, until it ends.
SELECT pg_try_advisory_xact_lock(1752457836, hashtext(lower(current_setting('search_path'))));

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

-- name: list_unanalyzed
-- Tables of more than 64 kB in the search path of which the planner has no statistics, or those of less than half of
-- the rows; and why. The last are by the server's estimates.
SELECT c.relname,
       CASE WHEN c.reltuples < 0 THEN 'was never analyzed'
            WHEN c.reltuples < s.n_live_tup / 2 - 10000
            THEN format('had %s rows when it was analyzed, and has %s', c.reltuples::bigint, s.n_live_tup)
            ELSE 'has no column statistics' END
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_stat_user_tables AS s ON s.relid = c.oid
WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind = 'r' AND pg_relation_size(c.oid) > 65536
  AND has_table_privilege(c.oid, 'SELECT')
  AND (c.reltuples < 0 OR c.reltuples < s.n_live_tup / 2 - 10000
       OR NOT EXISTS (SELECT FROM pg_stats AS p WHERE p.schemaname = n.nspname AND p.tablename = c.relname))
ORDER BY c.relname;

-- commands: update_statistics
-- Statistics for the planner alone.
SELECT format('ANALYZE %I.%I', nspname, relname)
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE pg_class.oid = to_regclass(:table);

-- name: grants_on_schema
-- The command that lets this account name what is in the schema; no row if it may.
SELECT format('GRANT USAGE ON SCHEMA %I TO %I', nspname, current_user)
FROM pg_namespace
WHERE nspname = lower(current_setting('search_path')) AND NOT has_schema_privilege(oid, 'USAGE');

-- name: grants_on_tables
-- The command that grants this account a privilege on those of the tables on which it lacks it; no row if on none. A
-- privilege on a column suffices here. The tables are not used by the account where all routines run as their owner.
SELECT format('GRANT %s ON %s TO %I', :privilege::text,
              string_agg(format('%I.%I', n.nspname, c.relname), ', ' ORDER BY c.relname), current_user)
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = lower(current_setting('search_path')) AND c.relkind IN ('r', 'p')
  AND c.relname = ANY (string_to_array(:tables, ','))
  AND NOT CASE :privilege::text WHEN 'DELETE' THEN has_table_privilege(c.oid, 'DELETE')
               ELSE has_any_column_privilege(c.oid, :privilege::text) END
  AND (:routines::text = '' OR EXISTS (
      SELECT FROM pg_proc AS p
      WHERE p.pronamespace = n.oid AND p.proname = ANY (string_to_array(:routines::text, ',')) AND NOT p.prosecdef))
HAVING count(*) > 0;

-- name: grants_on_routines
-- The commands that let this account call those of the routines that it may not.
SELECT format('GRANT EXECUTE ON ROUTINE %I.%I(%s) TO %I', n.nspname, p.proname,
              pg_get_function_identity_arguments(p.oid), current_user)
FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
WHERE n.nspname = lower(current_setting('search_path')) AND p.proname = ANY (string_to_array(:routines, ','))
  AND NOT has_function_privilege(p.oid, 'EXECUTE')
ORDER BY p.proname;

-- name: list_not_analyzable
-- Tables among these that this account may not analyze; the server would leave them out with a warning. The privilege
-- exists from version 17 on.
SELECT c.relname
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_database AS d ON d.datname = current_database()
WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r', 'p')
  AND c.relname = ANY (string_to_array(:tables, ','))
  AND NOT pg_has_role(c.relowner, 'USAGE') AND NOT pg_has_role(d.datdba, 'USAGE')
  AND CASE WHEN current_setting('server_version_num')::integer < 170000 THEN true
           ELSE NOT has_table_privilege(c.oid, 'MAINTAIN') END
ORDER BY c.relname;

-- commands: analyze
-- Statistics for the planner, and the visibility map. The command names the schema, since no transaction can hold it.
SELECT format('VACUUM (ANALYZE) %I.%I', nspname, relname)
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE pg_class.oid = to_regclass(:table);
