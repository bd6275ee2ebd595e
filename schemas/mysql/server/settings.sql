-- Settings of the server, idle state between runs, and the first statements of a private server.

-- name: first_statements
-- Makes the administrator the only account, with a password; run while the data folder is created.
ALTER USER 'root'@'localhost' IDENTIFIED BY :password;

-- name: control_settings
-- Every setting as seen by this session. The server reports what a change requires only when it is attempted, and it
-- does not report allowed values. A persisted value that differs from the current one requires a restart.
SELECT g.variable_name,
       coalesce(s.variable_value, g.variable_value),
       NULL AS unit,
       CASE i.variable_source WHEN 'COMPILED' THEN g.variable_value END AS default_value,
       NULL AS apply_by,
       CASE WHEN i.max_value <> '0' AND g.variable_value REGEXP '^-?[0-9]+$' THEN i.min_value END,
       CASE WHEN i.max_value <> '0' AND g.variable_value REGEXP '^-?[0-9]+$' THEN i.max_value END,
       NULL AS choices,
       CASE
           WHEN i.max_value <> '0' AND g.variable_value REGEXP '^-?[0-9]+$' THEN 'size'
           WHEN g.variable_value REGEXP '^-?[0-9]+[.][0-9]+$' THEN 'real'
           ELSE 'string'
       END AS kind,
       '' AS short_text,
       coalesce(s.variable_value, g.variable_value) AS shown,
       CASE WHEN s.variable_value <> g.variable_value THEN 'the client''s connection' END AS winner,
       coalesce(upper(p.variable_value) <> upper(g.variable_value), 0) AS waiting
FROM performance_schema.global_variables AS g
JOIN performance_schema.variables_info AS i ON i.variable_name = g.variable_name
LEFT JOIN performance_schema.session_variables AS s ON s.variable_name = g.variable_name
LEFT JOIN performance_schema.persisted_variables AS p ON p.variable_name = g.variable_name
ORDER BY g.variable_name;

-- commands: try_setting
-- Sets nothing, because its last part always fails: a setting that fails before it can only be set at startup.
SELECT concat('SET GLOBAL `', :name, '` = @@GLOBAL.`', :name, '`, GLOBAL version = 1');

-- name: running_settings
-- The values for new sessions and the global values, without counters of the server and without passwords; and whether
-- they were set while it runs.
SELECT g.variable_name, g.variable_value, i.variable_source = 'DYNAMIC'
FROM performance_schema.global_variables AS g
JOIN performance_schema.variables_info AS i ON i.variable_name = g.variable_name
WHERE g.variable_name NOT LIKE 'gtid%' AND g.variable_name NOT LIKE '%password';

-- name: file_entries
-- The persisted settings (SET PERSIST).
SELECT variable_name, variable_value
FROM performance_schema.persisted_variables;

-- name: settings_file
-- The file of persisted settings.
SELECT concat(@@datadir, 'mysqld-auto.cnf');

-- name: server_identity
-- The port of the server, and the unique id of its data folder.
SELECT concat(@@port, '/', @@server_uuid);

-- commands: set_setting
-- Sets a setting now and persistently. Numbers are not quoted. In strict mode a size that the server would round to its
-- own steps is an error.
SELECT command
FROM (
    SELECT 1 AS position, 'SET @mode = @@SESSION.sql_mode, SESSION sql_mode = replace(@@SESSION.sql_mode, ''STRICT_ALL_TABLES'', '''')' AS command
    UNION ALL
    SELECT 2, concat(
        'SET ', CASE :apply_by WHEN 'restart' THEN 'PERSIST_ONLY' ELSE 'PERSIST' END, ' `', :name, '` = ',
        CASE WHEN :value REGEXP '^-?[0-9]+([.][0-9]+)?$' THEN :value ELSE quote(:value) END)
    UNION ALL
    SELECT 3, 'SET SESSION sql_mode = @mode'
) AS commands
ORDER BY position;

-- commands: set_running_setting
-- Sets a setting until the next restart.
SELECT concat(
    'SET GLOBAL `', :name, '` = ',
    CASE WHEN :value REGEXP '^-?[0-9]+([.][0-9]+)?$' THEN :value ELSE quote(:value) END);

-- commands: reset_setting
-- Removes a persisted setting.
SELECT concat('RESET PERSIST IF EXISTS `', :name, '`');

-- name: privileges_to_persist
-- The privileges that an account needs to persist settings.
SELECT 'SYSTEM_VARIABLES_ADMIN' UNION ALL SELECT 'PERSIST_RO_VARIABLES_ADMIN';

-- name: reload_settings
-- Nothing: changes take effect immediately.
DO 0;

-- name: settings_loaded_at
-- The current time, since changes take effect immediately; and the start time of the server.
SELECT now(6), now() - INTERVAL variable_value SECOND
FROM performance_schema.global_status
WHERE variable_name = 'Uptime';

-- name: remove_old_rows
-- Nothing: the server purges by itself, faster with the settings for the idle state.
DO 0;

-- name: checkpoint
-- Nothing: dirty pages are written with the settings for the idle state.
DO 0;

-- name: rest_settings
-- Settings that speed up the purge of old row versions and the writing of dirty pages; the history list is truncated
-- after each purge, while by default the server leaves some hundred entries.
SELECT 'innodb_purge_batch_size', '5000'
UNION ALL
SELECT 'innodb_purge_rseg_truncate_frequency', '1'
UNION ALL
SELECT 'innodb_max_dirty_pages_pct_lwm', '0'
UNION ALL
SELECT 'innodb_max_dirty_pages_pct', '0'
UNION ALL
SELECT 'innodb_io_capacity_max', '120000'
UNION ALL
SELECT 'innodb_io_capacity', '120000';

-- name: rest_left
-- Old row versions not purged yet (the last few remain until the next transaction), dirty pages not written yet, and
-- whether the buffer pool is being resized.
SELECT 'history', max(greatest(count, 10)) - 10
FROM information_schema.innodb_metrics
WHERE name = 'trx_rseg_history_len'
UNION ALL
SELECT 'dirty pages', max(variable_value)
FROM performance_schema.global_status
WHERE variable_name = 'Innodb_buffer_pool_pages_dirty'
UNION ALL
SELECT 'resizing', count(*)
FROM performance_schema.global_status
WHERE variable_name = 'Innodb_buffer_pool_resize_status'
  AND variable_value <> '' AND variable_value NOT LIKE 'Completed%' AND variable_value NOT LIKE 'Size did not change%';
