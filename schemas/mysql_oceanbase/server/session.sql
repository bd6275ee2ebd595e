-- Queries of a session: differences of OceanBase and its seekdb from MySQL.

-- name: lift_own_limits
-- Let this session work and be idle for as long as it takes; its statements at most for these milliseconds, 0: no limit.
-- Its own timeouts are in microseconds.
SET SESSION wait_timeout = 31536000, lock_wait_timeout = 31536000, max_execution_time = :milliseconds,
    ob_query_timeout = IF(:milliseconds = 0, 31536000000000, :milliseconds * 1000),
    ob_trx_timeout = 31536000000000, ob_trx_idle_timeout = 31536000000000;

-- name: timeouts
-- The timeouts of this session: what each ends, its seconds, and who sets it.
SELECT e.ends, e.seconds, CASE WHEN e.seconds = e.of_server THEN 'the server' ELSE 'hdbkit or the account' END
FROM (
    SELECT 'statements' AS ends, @@SESSION.ob_query_timeout / 1000000 AS seconds,
           @@GLOBAL.ob_query_timeout / 1000000 AS of_server
    UNION ALL
    SELECT 'transactions', @@SESSION.ob_trx_timeout / 1000000, @@GLOBAL.ob_trx_timeout / 1000000
    UNION ALL
    SELECT 'idle transactions', @@SESSION.ob_trx_idle_timeout / 1000000, @@GLOBAL.ob_trx_idle_timeout / 1000000
) AS e
WHERE e.seconds < 31536000;

-- name: set_lock_timeout
SET SESSION ob_trx_lock_timeout = :seconds * 1000000;

-- name: set_statement_timeout
SET SESSION ob_query_timeout = :milliseconds * 1000;

-- name: free_connections
-- Connections that the server still allows; null: the account has no limit that can be read.
SELECT @@max_connections - (SELECT COUNT(*) FROM information_schema.PROCESSLIST), NULL;

-- name: read_settings
-- Every setting of the server and its value; which were set explicitly is not known.
SELECT LOWER(VARIABLE_NAME), VARIABLE_VALUE, NULL, 0
FROM information_schema.GLOBAL_VARIABLES
WHERE LOWER(VARIABLE_NAME) NOT LIKE '%password%'
ORDER BY 1;

-- name: literal_databases
-- They are wildcards here.
SELECT 0;

-- name: footprint
-- Unknown: neither the size of tables nor that of the cache can be read.
SELECT 0, '', 0 FROM DUAL WHERE 1 = 0;

-- name: write_cycle
-- None is known.
SELECT '', 0, 0 FROM DUAL WHERE 1 = 0;
