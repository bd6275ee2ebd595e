-- Queries of a session.

-- name: server_version
SELECT version();

-- name: footprint
-- Size of the database in its file; name and size in bytes of the memory limit.
SELECT (SELECT sum(used_blocks * block_size) FROM pragma_database_size()), 'memory_limit',
       CAST(regexp_extract(current_setting('memory_limit'), '[0-9.]+') AS DOUBLE)
       * CASE regexp_extract(current_setting('memory_limit'), '[KMGT]?i?B')
             WHEN 'KiB' THEN 1024 WHEN 'MiB' THEN 1048576 WHEN 'GiB' THEN 1073741824 WHEN 'TiB' THEN 1099511627776
             ELSE 1 END;

-- name: read_settings
-- The settings of this process; none has a known default.
SELECT name, value, NULL, NULL, 0 FROM duckdb_settings()
WHERE name IN ('threads', 'memory_limit', 'preserve_insertion_order', 'temp_directory', 'checkpoint_threshold');

-- name: explain_text
-- The plan of a statement.
EXPLAIN {statement};

-- name: explain_json
EXPLAIN (FORMAT json) {statement};
