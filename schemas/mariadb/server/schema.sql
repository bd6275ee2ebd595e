-- name: lift_own_limits
-- Let this session work for as long as it takes; its statements at most for these milliseconds, 0: no limit.
SET SESSION net_read_timeout = GREATEST(@@net_read_timeout, CAST(3600 AS UNSIGNED)),
    net_write_timeout = GREATEST(@@net_write_timeout, CAST(3600 AS UNSIGNED)), lock_wait_timeout = 31536000,
    innodb_lock_wait_timeout = GREATEST(@@innodb_lock_wait_timeout, CAST(50 AS UNSIGNED)), max_statement_time = :milliseconds / 1000,
    idle_transaction_timeout = 0, idle_write_transaction_timeout = 0, idle_readonly_transaction_timeout = 0;

-- name: demanded_keys
-- The setting by which the server refuses tables without a primary key.
SELECT LOWER(VARIABLE_NAME) FROM information_schema.GLOBAL_VARIABLES
WHERE VARIABLE_NAME = 'INNODB_FORCE_PRIMARY_KEY' AND VARIABLE_VALUE = 'ON';
