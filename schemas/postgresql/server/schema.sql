-- A workload's schema, which is the only schema of the session's search path: its content, and options of new tables.

-- name: use_tablespace
-- The tablespace of the transaction's new tables and indexes.
SELECT set_config('default_tablespace', :tablespace, true);

-- commands: make_unlogged
-- A partitioned table has no storage, so its partitions are changed.
SELECT format('ALTER TABLE %s SET UNLOGGED', relid) FROM pg_partition_tree(CAST(:table AS regclass)) WHERE isleaf
UNION ALL
SELECT format('ALTER TABLE %s SET UNLOGGED', CAST(:table AS regclass))
WHERE NOT EXISTS (SELECT FROM pg_partition_tree(CAST(:table AS regclass)));

-- name: create_schema
CREATE SCHEMA {schema};

-- name: drop_schema
-- Fails while the schema has other objects.
DROP SCHEMA {schema} RESTRICT;

-- name: schema_exists
SELECT count(*) FROM pg_namespace WHERE nspname = lower(current_setting('search_path'));

-- name: lift_own_limits
-- Let statements, transactions and pauses take as long as they need, in this session or only in this transaction, and
-- indexes have more memory (in kB, an eighth of shared_buffers, of which the setting counts pages of 8 kB) and, like
-- checks, the server's parallel workers; what hdbkit or the target limits stays, but for pauses. An index has a
-- quarter of the workers: several are created at once, and the largest takes several times as long if it has none. Some
-- timeouts exist from version 17 on.
WITH limits AS (
  SELECT name, setting::bigint AS limit_now, source, CASE
    WHEN name = 'maintenance_work_mem' THEN (
      SELECT least(512 * 1024, setting::bigint) FROM pg_settings WHERE name = 'shared_buffers')
    WHEN name = 'max_parallel_maintenance_workers' THEN (current_setting('max_parallel_workers')::bigint + 3) / 4
    WHEN name LIKE 'max_parallel%' THEN current_setting('max_parallel_workers')::bigint
    ELSE 0 END AS wanted
  FROM pg_settings
  WHERE name IN ('statement_timeout', 'transaction_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout',
                 'idle_session_timeout', 'maintenance_work_mem', 'max_parallel_maintenance_workers',
                 'max_parallel_workers_per_gather'))
SELECT name, wanted, set_config(name, wanted::text, :in_transaction)
FROM limits
WHERE CASE WHEN wanted = 0 THEN limit_now <> 0 ELSE limit_now < wanted END
  AND (source NOT IN ('client', 'session') OR name LIKE 'idle%');

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

-- name: list_objects
-- Objects of the schemas in the search path, without partitions: their kind, their name and their definition.
SELECT o.kind, o.name, o.definition
FROM (
    SELECT c.relnamespace AS of_schema, 'table' AS kind, c.relname::text AS name,
           concat_ws(' ', c.relpersistence, c.reloptions::text, c.reltablespace) AS definition
    FROM pg_class AS c WHERE c.relkind IN ('r', 'p', 'v', 'm') AND NOT c.relispartition
    UNION ALL
    SELECT c.relnamespace, 'column', c.relname || '.' || a.attname,
           concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstattarget, a.attstorage)
    FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT c.relnamespace, 'index', c.relname, concat_ws(' ', pg_get_indexdef(c.oid), i.indisvalid)
    FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid WHERE NOT c.relispartition
    UNION ALL
    SELECT c.relnamespace, 'trigger', c.relname || '.' || t.tgname,
           concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled)
    FROM pg_class AS c JOIN pg_trigger AS t ON t.tgrelid = c.oid WHERE NOT t.tgisinternal AND NOT c.relispartition
    UNION ALL
    SELECT p.pronamespace, 'routine', p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
           md5(concat_ws(' ', p.prosrc, p.provolatile, p.prosecdef, p.proconfig::text))
    FROM pg_proc AS p
) AS o
JOIN pg_namespace AS n ON n.oid = o.of_schema
WHERE n.nspname = ANY (current_schemas(false));

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

-- name: grants_to_build
-- The command that lets this account create the schema; no row if it may, or if the schema is there.
SELECT format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user)
WHERE NOT has_database_privilege(current_database(), 'CREATE')
  AND NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = lower(current_setting('search_path')));

-- name: grants_to_own
-- The command that gives this account what the owner of the schema may, which alone may change and drop it; no row if
-- it may, or if the owner is a superuser.
SELECT format('GRANT %I TO %I', r.rolname, current_user)
FROM pg_namespace AS n
JOIN pg_roles AS r ON r.oid = n.nspowner
WHERE n.nspname = lower(current_setting('search_path')) AND NOT r.rolsuper AND NOT pg_has_role(r.oid, 'USAGE');

-- name: grants_for
-- The commands that grant this account what it lacks of an access; no row if nothing. Names without a schema are looked
-- up in the search path, with those of its schemas that this account may not use; names that are not there need no
-- privilege. What routines use is used by this account where one of them runs as who calls it. A privilege on a column
-- suffices. Of routines with the same name one that may be executed suffices.
WITH asked AS (
    SELECT of.kind, privileges.key AS privilege, parse_ident(names.name) AS parts
    FROM (VALUES ('used', :access::jsonb -> 'tables'), ('used in routines', :access::jsonb -> 'in_routines'),
                 ('called', jsonb_build_object('EXECUTE', :access::jsonb -> 'routines'))) AS of (kind, content),
         jsonb_each(of.content) AS privileges,
         jsonb_array_elements_text(privileges.value) AS names (name)
), path AS (
    SELECT replace((parse_ident(btrim(entry)))[1], '$user', current_user) AS name, position
    FROM unnest(string_to_array(current_setting('search_path'), ',')) WITH ORDINALITY AS entries (entry, position)
    WHERE btrim(entry) ~ '^("[^"]+"|[A-Za-z_][A-Za-z0-9_$]*)$'
    UNION ALL
    SELECT 'pg_catalog', 0
), sought AS (
    SELECT a.kind, a.privilege, a.parts, n.oid AS schema_id, n.nspname AS schema_name, a.parts[cardinality(a.parts)] AS name,
           coalesce(p.position, 0) AS position
    FROM asked AS a
    JOIN pg_namespace AS n ON cardinality(a.parts) = 1 OR n.nspname = a.parts[1]
    LEFT JOIN path AS p ON p.name = n.nspname
    WHERE cardinality(a.parts) > 1 OR p.position IS NOT NULL
), routines AS (
    SELECT s.schema_id, s.schema_name, s.parts, p.oid, p.proname, p.prosecdef,
           bool_or(has_function_privilege(p.oid, 'EXECUTE')) OVER (PARTITION BY s.parts) AS permitted
    FROM sought AS s
    JOIN pg_proc AS p ON p.pronamespace = s.schema_id AND p.proname = s.name
    WHERE s.kind = 'called'
), tables AS (
    SELECT DISTINCT ON (s.kind, s.privilege, s.parts)
           s.schema_id, s.schema_name, CASE s.privilege WHEN 'LOCK' THEN 'UPDATE' ELSE s.privilege END AS privilege,
           c.oid, c.relname
    FROM sought AS s
    JOIN pg_class AS c ON c.relnamespace = s.schema_id AND c.relname = s.name
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND (s.kind = 'used' OR s.kind = 'used in routines' AND EXISTS (SELECT FROM routines WHERE NOT prosecdef))
    ORDER BY s.kind, s.privilege, s.parts, s.position
), lacking AS (
    SELECT DISTINCT privilege, schema_name, relname
    FROM tables
    WHERE NOT CASE WHEN privilege IN ('DELETE', 'TRUNCATE') THEN has_table_privilege(oid, privilege)
                   ELSE has_any_column_privilege(oid, privilege) END
)
SELECT format('GRANT USAGE ON SCHEMA %I TO %I', schema_name, current_user)
FROM (SELECT schema_id, schema_name FROM tables UNION SELECT schema_id, schema_name FROM routines) AS used
WHERE NOT has_schema_privilege(schema_id, 'USAGE')
UNION ALL
SELECT format('GRANT %s ON %s TO %I', privilege,
              string_agg(format('%I.%I', schema_name, relname), ', ' ORDER BY schema_name, relname), current_user)
FROM lacking
GROUP BY privilege
UNION ALL
SELECT DISTINCT format('GRANT EXECUTE ON ROUTINE %I.%I(%s) TO %I', schema_name, proname,
                       pg_get_function_identity_arguments(oid), current_user)
FROM routines
WHERE NOT permitted;

-- name: list_not_analyzable
-- Tables among these that this account may not analyze; the server would leave them out with a warning. The privilege
-- exists from version 17 on; before it, only the owner may.
SELECT c.relname,
       CASE WHEN current_setting('server_version_num')::integer < 170000
            THEN format('GRANT %I TO %I', pg_get_userbyid(c.relowner), current_user)
            ELSE format('GRANT MAINTAIN ON %s TO %I',
                        string_agg(format('%I.%I', n.nspname, c.relname), ', ') OVER (), current_user) END
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
