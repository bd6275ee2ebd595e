-- What the server counts by statement.

-- name: counts_statements
-- Always.
SELECT 'statement_totals' FROM SYSIBM.SYSDUMMY1;

-- name: statement_totals
-- Running totals by statement in the package cache of this database.
SELECT HEX(s.EXECUTABLE_ID), MIN(CAST(LEFT(s.STMT_TEXT, 300) AS VARCHAR(300))), SUM(s.NUM_EXECUTIONS),
       SUM(s.STMT_EXEC_TIME), SUM(s.ROWS_RETURNED + s.ROWS_MODIFIED), SUM(s.ROWS_READ),
       SUM(s.POOL_DATA_L_READS + s.POOL_INDEX_L_READS), SUM(s.POOL_DATA_P_READS + s.POOL_INDEX_P_READS), CAST(NULL AS BIGINT)
FROM TABLE(MON_GET_PKG_CACHE_STMT(NULL, NULL, NULL, -2)) AS s
GROUP BY s.EXECUTABLE_ID;
