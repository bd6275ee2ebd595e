-- What the server counts by statement, of all instances; it needs no licence.

-- name: counts_statements
-- Always.
SELECT 'statement_totals' FROM dual;

-- name: statement_totals
-- Running totals by statement of the database; a block is a page.
SELECT sql_id, SUBSTR(MIN(sql_text), 1, 300), SUM(executions), SUM(elapsed_time) / 1000, SUM(rows_processed), NULL,
       SUM(buffer_gets), SUM(disk_reads), NULL
FROM gv$sqlstats
WHERE executions > 0
GROUP BY sql_id;
