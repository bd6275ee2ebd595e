-- Queries of a session.

-- name: set_up
-- What standard SQL demands: nulls, sums of nothing, outer joins; changes that are there when they are answered.
SET data_type_default_nullable = 1, join_use_nulls = 1, aggregate_functions_null_for_empty = 1,
    create_table_empty_primary_key_by_default = 1, mutations_sync = 2, lightweight_deletes_sync = 2;

-- name: set_option
SET {name} = :value;

-- name: server_version
SELECT version();

-- name: clock
SELECT toUnixTimestamp64Micro(now64(6)) / 1000000;

-- name: footprint
-- Size of the data on disk; name and size in bytes of the memory limit.
SELECT (SELECT COALESCE(sum(bytes_on_disk), 0) FROM system.parts WHERE active AND database = currentDatabase()),
       'max_server_memory_usage', CAST((SELECT value FROM system.server_settings WHERE name = 'max_server_memory_usage') AS BIGINT);

-- name: read_settings
SELECT name, value, NULL, default, changed FROM system.settings
WHERE name IN ('max_threads', 'max_memory_usage', 'max_block_size', 'join_algorithm', 'max_bytes_before_external_group_by');

-- name: explain_text
-- The plan of a statement.
EXPLAIN {statement};

-- name: explain_json
EXPLAIN json = 1 {statement};
