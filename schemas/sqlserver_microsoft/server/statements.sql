-- What the server counts by statement. Requires VIEW SERVER STATE.

-- name: counts_statements
-- Always.
SELECT 'statement_totals';

-- name: statement_totals
-- Running totals by statement of this database, and of statements without a database, whose plans are in the cache.
SELECT CONVERT(VARCHAR(18), s.query_hash, 1),
       MIN(CAST(SUBSTRING(t.text, s.statement_start_offset / 2 + 1,
                          (CASE WHEN s.statement_end_offset = -1 THEN DATALENGTH(t.text) ELSE s.statement_end_offset END
                           - s.statement_start_offset) / 2 + 1) AS NVARCHAR(300))),
       SUM(s.execution_count), SUM(s.total_elapsed_time) / 1000.0, SUM(s.total_rows), NULL,
       SUM(s.total_logical_reads), SUM(s.total_physical_reads), NULL
FROM sys.dm_exec_query_stats AS s
CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t
WHERE t.dbid IS NULL OR t.dbid = DB_ID()
GROUP BY s.query_hash;
