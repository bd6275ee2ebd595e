-- What the server counts by statement.

-- name: counts_statements
-- A row if the extension pg_stat_statements is installed in this database; with pg_stat_kcache if that is loaded, too.
SELECT CASE WHEN EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_stat_kcache')
             AND EXISTS (SELECT FROM pg_settings WHERE name = 'pg_stat_kcache.linux_hz')
            THEN 'statement_totals_with_cpu' ELSE 'statement_totals' END
FROM pg_extension WHERE extname = 'pg_stat_statements';

-- name: statement_totals
-- Running totals by statement of this database; those of other accounts require pg_read_all_stats.
{{statement_totals}};

-- name: statement_totals_with_cpu
-- The same with what the kernel counted, as the extension pg_stat_kcache keeps it.
SELECT s.*, k.cpu_user_ms, k.cpu_system_ms, k.disk_read_bytes, k.disk_written_bytes
FROM ({{statement_totals}}) AS s
LEFT JOIN (
    SELECT queryid::text AS queryid, 1000 * sum(exec_user_time + plan_user_time) AS cpu_user_ms,
           1000 * sum(exec_system_time + plan_system_time) AS cpu_system_ms,
           sum(exec_reads + plan_reads)::float8 AS disk_read_bytes, sum(exec_writes + plan_writes)::float8 AS disk_written_bytes
    FROM pg_stat_kcache()
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    GROUP BY queryid) AS k ON k.queryid = s.queryid;
