-- Settings of the server, its rest between runs, and the first statements of a private server.

-- name: first_statements
-- What makes the administrator the only account, with a password; run while the data folder is made.
ALTER USER 'root'@'localhost' IDENTIFIED BY :password;

-- name: control_settings
-- Every setting as this session has it. What one needs the server does not tell before it is asked to set it, and of
-- choices nothing. A kept value that differs from the present one waits for a restart.
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
-- Sets nothing, since its last part is refused: what is refused first may only be set at a start.
SELECT concat('SET GLOBAL `', :name, '` = @@GLOBAL.`', :name, '`, GLOBAL version = 1');

-- name: running_settings
-- The values that the server gives to new sessions, and runs with; not what it counts up itself, and no password.
SELECT variable_name, variable_value
FROM performance_schema.global_variables
WHERE variable_name NOT LIKE 'gtid%' AND variable_name NOT LIKE '%password';

-- name: file_entries
-- What SET PERSIST wrote.
SELECT variable_name, variable_value
FROM performance_schema.persisted_variables;

-- name: settings_file
-- The file that SET PERSIST writes.
SELECT concat(@@datadir, 'mysqld-auto.cnf');

-- name: server_identity
-- The port the server itself listens on, and the number its data folder got when it was made.
SELECT concat(@@port, '/', @@server_uuid);

-- commands: set_setting
-- Sets a setting for now and for later. A number is not quoted.
SELECT concat(
    'SET ', CASE :apply_by WHEN 'restart' THEN 'PERSIST_ONLY' ELSE 'PERSIST' END, ' `', :name, '` = ',
    CASE WHEN :value REGEXP '^-?[0-9]+([.][0-9]+)?$' THEN :value ELSE quote(:value) END);

-- commands: set_running_setting
-- Sets a setting for now.
SELECT concat(
    'SET GLOBAL `', :name, '` = ',
    CASE WHEN :value REGEXP '^-?[0-9]+([.][0-9]+)?$' THEN :value ELSE quote(:value) END);

-- commands: reset_setting
-- Removes what SET PERSIST wrote.
SELECT concat('RESET PERSIST IF EXISTS `', :name, '`');

-- name: reload_settings
-- Nothing: what is set takes effect at once.
DO 0;

-- name: settings_loaded_at
-- Now, since the server reads nothing later; and when it was started.
SELECT now(6), now() - INTERVAL variable_value SECOND
FROM performance_schema.global_status
WHERE variable_name = 'Uptime';

-- name: remove_old_rows
-- Nothing: the server does it by itself, with haste while the settings of rest hold.
DO 0;

-- name: checkpoint
-- Nothing: changed pages are written while the settings of rest hold.
DO 0;

-- name: rest_settings
-- What hastens the removal of old row versions and the writing of changed pages; the history list is cut each time
-- that versions were removed, where the server else leaves some hundred in it.
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
-- Old row versions that are still there (the last few stay until the next transaction), changed pages that are not
-- written, a buffer pool that is being resized.
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
