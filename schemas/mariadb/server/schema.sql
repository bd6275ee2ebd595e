-- name: lift_timeouts
-- Let this session and its transaction be idle for as long as it takes.
SET SESSION wait_timeout = 31536000, idle_transaction_timeout = 0, idle_write_transaction_timeout = 0,
    idle_readonly_transaction_timeout = 0;
