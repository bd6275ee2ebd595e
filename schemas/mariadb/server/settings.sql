-- Settings of the server: differences from MySQL.

-- name: first_statements
-- Makes the administrator the only account, with a password; run while the data folder is created.
FLUSH PRIVILEGES;
DELETE FROM mysql.global_priv WHERE user = 'root' AND host <> 'localhost';
FLUSH PRIVILEGES;
ALTER USER 'root'@'localhost' IDENTIFIED BY :password;

-- name: control_settings
-- Every setting as seen by this session, and what a change requires, as reported by the server.
SELECT lower(variable_name),
       coalesce(session_value, global_value),
       NULL AS unit,
       default_value,
       CASE
           WHEN read_only = 'YES' AND command_line_argument IS NULL THEN 'fixed'
           WHEN read_only = 'YES' THEN 'restart'
           WHEN variable_scope = 'SESSION' THEN 'session'
           ELSE 'reload'
       END AS apply_by,
       numeric_min_value,
       numeric_max_value,
       enum_value_list,
       CASE
           WHEN variable_type = 'BOOLEAN' THEN 'bool'
           WHEN variable_type = 'ENUM' THEN 'enum'
           WHEN variable_type = 'SET' THEN 'list'
           WHEN variable_type = 'DOUBLE' THEN 'real'
           WHEN variable_type LIKE '%INT%' THEN 'size'
           ELSE 'string'
       END AS kind,
       variable_comment,
       coalesce(session_value, global_value) AS shown,
       CASE WHEN session_value <> global_value THEN 'the client''s connection' END AS winner,
       0 AS waiting
FROM information_schema.system_variables
WHERE variable_scope <> 'SESSION ONLY'
ORDER BY variable_name;

-- name: running_settings
-- The values for new sessions and the global values, without counters of the server and without passwords; and whether
-- they were set while it runs.
SELECT lower(variable_name), global_value, global_value_origin = 'SQL'
FROM information_schema.system_variables
WHERE variable_scope <> 'SESSION ONLY' AND global_value IS NOT NULL
  AND variable_name NOT LIKE 'gtid%' AND variable_name NOT LIKE '%password';

-- name: file_entries
-- None: the server has no persisted settings.
SELECT variable_name, global_value
FROM information_schema.system_variables
WHERE 0;

-- name: settings_file
-- None: the server's configuration files belong to its administrator.
SELECT variable_name
FROM information_schema.system_variables
WHERE 0;

-- name: server_identity
-- The port of the server, and an id derived from its host and data folder.
SELECT concat(@@port, '/', sha2(concat(@@hostname, @@datadir), 224));

-- name: privileges_to_persist
-- None: the server has no persisted settings.
SELECT variable_name
FROM information_schema.system_variables
WHERE 0;

-- commands: set_setting
-- Sets a setting until the next restart; settings cannot be persisted. Numbers are not quoted. In strict mode a size
-- that the server would round to its own steps is an error.
SELECT concat(
    'SET STATEMENT sql_mode = '''' FOR SET GLOBAL `', :name, '` = ',
    CASE WHEN :value REGEXP '^-?[0-9]+([.][0-9]+)?$' THEN :value ELSE quote(:value) END)
FROM information_schema.system_variables
WHERE variable_name = :name AND read_only = 'NO';

-- commands: reset_setting
-- None, since settings are not persisted.
SELECT concat(variable_name, :name)
FROM information_schema.system_variables
WHERE 0;

-- name: settings_loaded_at
-- The current time, since changes take effect immediately; and the start time of the server.
SELECT now(6), now() - INTERVAL variable_value SECOND
FROM information_schema.global_status
WHERE variable_name = 'UPTIME';

-- name: rest_settings
-- Settings that speed up the purge of old row versions and the writing of dirty pages; only dynamic settings.
SELECT lower(v.variable_name), h.value
FROM (
    SELECT 1 AS position, 'INNODB_PURGE_THREADS' AS name, '32' AS value
    UNION ALL
    SELECT 2, 'INNODB_PURGE_BATCH_SIZE', '5000'
    UNION ALL
    SELECT 3, 'INNODB_MAX_DIRTY_PAGES_PCT_LWM', '0'
    UNION ALL
    SELECT 4, 'INNODB_MAX_DIRTY_PAGES_PCT', '0'
    UNION ALL
    SELECT 5, 'INNODB_IO_CAPACITY_MAX', '120000'
    UNION ALL
    SELECT 6, 'INNODB_IO_CAPACITY', '120000'
) AS h
JOIN information_schema.system_variables AS v ON v.variable_name = h.name
WHERE v.read_only = 'NO'
ORDER BY h.position;

-- name: rest_left
-- Old row versions not purged yet, dirty pages not written yet, and whether the buffer pool is being resized.
SELECT lower(variable_name), variable_value
FROM information_schema.global_status
WHERE variable_name IN ('INNODB_HISTORY_LIST_LENGTH', 'INNODB_BUFFER_POOL_PAGES_DIRTY')
UNION ALL
SELECT 'resizing', count(*)
FROM information_schema.global_status
WHERE variable_name = 'INNODB_BUFFER_POOL_RESIZE_STATUS'
  AND variable_value <> '' AND variable_value NOT LIKE 'Completed%' AND variable_value NOT LIKE 'Size did not change%';
