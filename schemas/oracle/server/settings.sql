-- Settings of the server: the initialization parameters, kept in its server parameter file (spfile).

-- name: control_settings
-- Every parameter as seen by this session. Memory sizes are in bytes. A value in the spfile that differs from the
-- running one waits for a restart; DEFERRED ones apply to new sessions. Some belong to the root of a container database.
SELECT p.name,
       p.value,
       NULL AS unit,
       p.default_value,
       CASE
           WHEN p.ispdb_modifiable = 'FALSE' AND SYS_CONTEXT('USERENV', 'CON_ID') > 1 THEN 'fixed'
           WHEN p.issys_modifiable = 'FALSE' THEN 'restart'
           WHEN p.isses_modifiable = 'TRUE' THEN 'session'
           ELSE 'reload'
       END AS apply_by,
       NULL AS minimum,
       NULL AS maximum,
       (SELECT LISTAGG(v.value, ',') WITHIN GROUP (ORDER BY v.ordinal) FROM v$parameter_valid_values v
        WHERE v.name = p.name) AS choices,
       CASE
           WHEN p.type = 1 THEN 'bool'
           WHEN p.type IN (3, 6) THEN 'size'
           WHEN p.name IN (SELECT name FROM v$parameter_valid_values) THEN 'enum'
           ELSE 'string'
       END AS kind,
       p.description,
       p.value AS shown,
       CASE WHEN p.ismodified = 'MODIFIED' THEN 'the session''s own setting' END AS winner,
       CASE WHEN UPPER(f.value) <> UPPER(p.value) THEN 1 ELSE 0 END AS waiting
FROM v$parameter p
LEFT JOIN (SELECT name, MIN(value) AS value FROM v$spparameter
           WHERE isspecified = 'TRUE' AND sid = '*' GROUP BY name HAVING COUNT(*) = 1) f ON f.name = p.name
ORDER BY p.name;

-- name: file_entries
-- The parameters in the spfile; one with several values is a list.
SELECT name, LISTAGG(value, ', ') WITHIN GROUP (ORDER BY ordinal)
FROM v$spparameter
WHERE isspecified = 'TRUE' AND sid = '*'
GROUP BY name
ORDER BY name;

-- name: settings_file
-- No row where the instance was started with a text file, which the server does not change.
SELECT value FROM v$parameter WHERE name = 'spfile' AND value IS NOT NULL;

-- name: server_identity
-- The unique name of the database, and the container.
SELECT SYS_CONTEXT('USERENV', 'DB_UNIQUE_NAME') || '/' || SYS_CONTEXT('USERENV', 'CON_NAME') FROM dual;

-- commands: set_setting
-- Sets a parameter on all instances, in the spfile and at once; a static one in the spfile alone. Texts are quoted.
SELECT 'ALTER SYSTEM SET "' || name || '" = '
       || CASE WHEN type IN (2, 4) THEN '''' || REPLACE(:value, '''', '''''') || '''' ELSE :value END
       || CASE issys_modifiable WHEN 'DEFERRED' THEN ' DEFERRED' END
       || ' SCOPE = ' || CASE WHEN :apply_by = 'restart' THEN 'SPFILE' ELSE 'BOTH' END || ' SID = ''*'''
FROM v$parameter
WHERE name = :name;

-- commands: set_running_setting
-- Sets a parameter until the next restart.
SELECT 'ALTER SYSTEM SET "' || name || '" = '
       || CASE WHEN type IN (2, 4) THEN '''' || REPLACE(:value, '''', '''''') || '''' ELSE :value END
       || CASE issys_modifiable WHEN 'DEFERRED' THEN ' DEFERRED' END || ' SCOPE = MEMORY SID = ''*'''
FROM v$parameter
WHERE name = :name AND issys_modifiable <> 'FALSE';

-- commands: set_in_session
-- Sets a parameter until this session ends.
SELECT 'ALTER SESSION SET "' || name || '" = '
       || CASE WHEN type IN (2, 4) THEN '''' || REPLACE(:value, '''', '''''') || '''' ELSE :value END
FROM v$parameter
WHERE name = :name;

-- commands: reset_setting
-- Removes a parameter from the spfile.
SELECT 'ALTER SYSTEM RESET "' || name || '" SCOPE = SPFILE SID = ''*''' FROM v$parameter WHERE name = :name;

-- name: running_settings
-- The values that the instance runs with; a restart loses those that are not in the spfile.
SELECT p.name, p.value,
       CASE WHEN p.ismodified = 'SYSTEM_MOD' AND (f.value IS NULL OR UPPER(f.value) <> UPPER(p.value)) THEN 1 ELSE 0 END
FROM v$system_parameter p
LEFT JOIN (SELECT name, MIN(value) AS value FROM v$spparameter
           WHERE isspecified = 'TRUE' AND sid = '*' GROUP BY name HAVING COUNT(*) = 1) f ON f.name = p.name
WHERE p.issys_modifiable <> 'FALSE' AND p.value IS NOT NULL AND p.name NOT LIKE '%password%'
ORDER BY p.name;

-- name: reload_settings
-- Nothing: changes apply at once, or to new sessions.
BEGIN
    NULL;
END;
/

-- name: settings_loaded_at
-- The current time, since changes apply at once; and the start of the instance.
SELECT CAST(SYSTIMESTAMP AS TIMESTAMP), startup_time FROM v$instance;

-- name: grants_to_set
-- The command that lets this account change parameters; no row if it may.
SELECT 'GRANT ALTER SYSTEM TO ' || USER FROM dual
WHERE NOT EXISTS (SELECT 1 FROM session_privs WHERE privilege = 'ALTER SYSTEM');

-- name: remove_old_rows
-- Nothing: old versions are in the undo tablespace, which the server reuses.
BEGIN
    NULL;
END;
/

-- commands: checkpoint
-- Begins a new redo log file, which a pluggable database cannot, and writes all changed blocks, on all instances.
SELECT 'ALTER SYSTEM SWITCH LOGFILE' FROM dual WHERE SYS_CONTEXT('USERENV', 'CON_ID') <= 1
UNION ALL
SELECT 'ALTER SYSTEM CHECKPOINT GLOBAL' FROM dual;

-- name: flush_cache
-- The buffer cache, after its changed blocks are written.
ALTER SYSTEM FLUSH BUFFER_CACHE;

-- name: rest_settings
-- None: after its checkpoint the server is idle.
SELECT name, value FROM v$parameter WHERE 1 = 0;

-- commands: end_other_sessions
-- Ends every other session of the account.
SELECT 'ALTER SYSTEM KILL SESSION ''' || sid || ',' || serial# || ',@' || inst_id || ''' IMMEDIATE'
FROM gv$session
WHERE username = USER AND NOT (sid = SYS_CONTEXT('USERENV', 'SID') AND inst_id = USERENV('INSTANCE'))
  AND :database_name IS NOT NULL;
