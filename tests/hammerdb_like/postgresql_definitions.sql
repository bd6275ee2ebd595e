-- Everything that is defined in the database: relations with their columns, types, indexes and options; routines whole.
SELECT 'relation', c.oid::text, c.relname, c.relkind::text, c.relnamespace::regnamespace::text,
       coalesce(pg_get_indexdef(c.oid), '') || coalesce(c.reloptions::text, '')
       || coalesce((SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod) || attnotnull, ',' ORDER BY attnum)
                    FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0), '')
FROM pg_class AS c WHERE c.oid >= 16384
UNION ALL
SELECT 'routine', p.oid::text, proname, prokind::text, pronamespace::regnamespace::text, pg_get_functiondef(p.oid)
FROM pg_proc AS p WHERE p.oid >= 16384 AND prokind IN ('f', 'p')
UNION ALL
SELECT 'schema', oid::text, nspname, '', '', '' FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%temp\_%'
ORDER BY 1, 2;
