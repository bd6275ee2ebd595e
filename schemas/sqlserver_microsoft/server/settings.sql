-- Settings of the server (sys.configurations), and of the database: its options with the prefix database. and its scoped
-- configuration with the prefix scoped. All are kept by the server itself.

-- name: control_settings
-- A setting that is not dynamic waits until the server is restarted.
SELECT name COLLATE DATABASE_DEFAULT AS name, CAST(value_in_use AS VARCHAR(100)) AS value,
       NULL AS unit, NULL AS default_value,
       CASE is_dynamic WHEN 1 THEN 'reload' ELSE 'restart' END AS apply_by,
       CAST(minimum AS BIGINT) AS minimum, CAST(maximum AS BIGINT) AS maximum, NULL AS choices, 'integer' AS kind,
       CAST(description COLLATE DATABASE_DEFAULT AS NVARCHAR(255)) AS short_text,
       CAST(value_in_use AS VARCHAR(100)) AS shown, NULL AS winner,
       CASE WHEN value <> value_in_use THEN 1 ELSE 0 END AS waiting
FROM sys.configurations
UNION ALL
SELECT name, value, NULL, NULL, 'reload', NULL, NULL, choices, kind, what, value, NULL, 0
FROM ({{options_of_database}}) AS options;

-- name: read_settings
-- Every setting of the server and the options of this database; the server states no default.
SELECT name COLLATE DATABASE_DEFAULT AS name, CAST(value_in_use AS VARCHAR(100)) AS value, NULL, NULL, 0
FROM sys.configurations
UNION ALL
SELECT name, value, NULL, NULL, 0 FROM ({{options_of_database}}) AS options
ORDER BY name;

-- name: file_entries
-- What the server and this database keep.
SELECT name COLLATE DATABASE_DEFAULT, CAST(value AS VARCHAR(100)) FROM sys.configurations
UNION ALL
SELECT name, value FROM ({{options_of_database}}) AS options;

-- name: settings_file
-- The databases in which the server keeps them.
SELECT CONCAT('the databases master and ', DB_NAME());

-- name: server_identity
-- The server's name, and the database with the time of its creation.
SELECT CONCAT(@@SERVERNAME, '/', name, '/', CONVERT(VARCHAR(30), create_date, 126)) FROM sys.databases
WHERE database_id = DB_ID();

-- commands: set_setting
-- An advanced setting can only be set while advanced ones are shown; that is undone at once. Accelerated recovery cannot be
-- turned off before optimized locking. These two and READ_COMMITTED_SNAPSHOT need the database for themselves.
SELECT command FROM (
    SELECT 1 AS step, 'EXEC sp_configure ''show advanced options'', 1 RECONFIGURE' AS command FROM sys.configurations
    WHERE name = :name AND is_advanced = 1
      AND 0 = (SELECT CAST(value_in_use AS INT) FROM sys.configurations WHERE name = 'show advanced options')
    UNION ALL
    SELECT 2, CONCAT('EXEC sp_configure ''',
                     REPLACE(name COLLATE DATABASE_DEFAULT, '''', ''''''), ''', ', CAST(:value AS BIGINT), ' RECONFIGURE')
    FROM sys.configurations WHERE name = :name
    UNION ALL
    SELECT 3, 'EXEC sp_configure ''show advanced options'', 0 RECONFIGURE' FROM sys.configurations
    WHERE name = :name AND is_advanced = 1
      AND 0 = (SELECT CAST(value_in_use AS INT) FROM sys.configurations WHERE name = 'show advanced options')
    UNION ALL
    SELECT 2, CONCAT('ALTER DATABASE SCOPED CONFIGURATION SET ', name COLLATE DATABASE_DEFAULT, ' = ', :value)
    FROM sys.database_scoped_configurations
    WHERE CONCAT('scoped.', name) = :name
    UNION ALL
    SELECT 1, 'ALTER DATABASE CURRENT SET OPTIMIZED_LOCKING = OFF WITH ROLLBACK IMMEDIATE'
    WHERE :name = 'database.ACCELERATED_DATABASE_RECOVERY' AND :value = 'OFF'
      AND DATABASEPROPERTYEX(DB_NAME(), 'IsOptimizedLockingOn') = 1
    UNION ALL
    SELECT 2, CONCAT('ALTER DATABASE CURRENT SET ', REPLACE(:name, 'database.', ''),
                     CASE WHEN :name IN ('database.DELAYED_DURABILITY', 'database.COMPATIBILITY_LEVEL',
                                         'database.TARGET_RECOVERY_TIME', 'database.ACCELERATED_DATABASE_RECOVERY',
                                         'database.OPTIMIZED_LOCKING') THEN ' = ' ELSE ' ' END, :value,
                     CASE WHEN :name = 'database.TARGET_RECOVERY_TIME' THEN ' SECONDS'
                          WHEN :name IN ('database.READ_COMMITTED_SNAPSHOT', 'database.ACCELERATED_DATABASE_RECOVERY',
                                         'database.OPTIMIZED_LOCKING') THEN ' WITH ROLLBACK IMMEDIATE' ELSE '' END)
    WHERE :name LIKE 'database.%' AND :apply_by <> 'fixed'
) AS commands
ORDER BY step;

-- name: set_running_setting
-- Nothing is set that the server would not keep.
SELECT :name AS name, :value AS value WHERE 1 = 0;

-- name: set_in_session
-- No session has such settings of its own.
SELECT :name AS name, :value AS value WHERE 1 = 0;

-- name: reset_setting
-- The server keeps every setting; a sweep sets the value that it found.
SELECT :name AS name WHERE 1 = 0;

-- name: running_settings
-- None: the server keeps what it runs with.
SELECT name, CAST(value_in_use AS VARCHAR(100)), 0 FROM sys.configurations WHERE 1 = 0;

-- name: reload_settings
-- Nothing: RECONFIGURE is part of each change.
SELECT 1;

-- name: settings_loaded_at
-- The current time, since changes apply at once; and the start of the server.
SELECT SYSDATETIME(), sqlserver_start_time FROM sys.dm_os_sys_info;

-- name: grants_to_set
-- What lets this account change settings; no row if it may.
SELECT CONCAT('USE master; GRANT ALTER SETTINGS TO ', QUOTENAME(SUSER_SNAME()))
WHERE HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER SETTINGS') = 0
UNION ALL
SELECT CONCAT('GRANT ALTER TO ', QUOTENAME(USER_NAME())) WHERE HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'ALTER') = 0;

-- name: remove_old_rows
-- Nothing: the server removes old versions by itself.
SELECT 1;

-- name: checkpoint
CHECKPOINT;

-- name: flush_cache
-- Clean pages leave memory, so changed ones are written before. Requires ALTER SERVER STATE.
CHECKPOINT;
DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS;

-- name: rest_settings
-- None: after its checkpoint the server is idle.
SELECT name, CAST(value_in_use AS VARCHAR(100)) FROM sys.configurations WHERE 1 = 0;
