-- What the server counts by statement.

-- name: counts_statements
-- A row if the performance schema is on.
SELECT 'statement_totals' FROM (SELECT @@performance_schema AS is_on) AS s WHERE s.is_on;

-- name: statement_totals
-- Running totals by statement of this database. Requires SELECT on performance_schema.
SELECT DIGEST, LEFT(DIGEST_TEXT, 300), COUNT_STAR, SUM_TIMER_WAIT / 1e9, SUM_ROWS_AFFECTED + SUM_ROWS_SENT,
       SUM_ROWS_EXAMINED, NULL, NULL, NULL
FROM performance_schema.events_statements_summary_by_digest
WHERE SCHEMA_NAME = DATABASE() AND DIGEST IS NOT NULL;
