-- What the server counts by statement.

-- name: counts_statements
-- Whether the extension pg_stat_statements is installed in this database.
SELECT count(*) FROM pg_extension WHERE extname = 'pg_stat_statements';

-- name: statement_totals
-- Running totals by statement of this database; those of other accounts require pg_read_all_stats.
SELECT queryid::text, min(left(regexp_replace(query, '\s+', ' ', 'g'), 300)), sum(calls)::float8,
       sum(total_exec_time)::float8, sum(rows)::float8, NULL::float8,
       sum(shared_blks_hit + shared_blks_read)::float8, sum(shared_blks_read)::float8, sum(wal_bytes)::float8
FROM pg_stat_statements
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND queryid IS NOT NULL
  AND query NOT LIKE '%pg_stat_statements%'
GROUP BY queryid;
