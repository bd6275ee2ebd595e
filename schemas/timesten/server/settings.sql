-- Settings that SQL changes: those of the checkpointer (ttCkptConfig) and of the database (ttDBConfig), which apply at once
-- and are kept, and those of a session. Other connection attributes are in the DSN on the server, and apply when the
-- database is loaded into memory again; they are recorded (read_settings).

-- name: control_settings
SELECT 'CkptFrequency', TO_CHAR(ckptfrequency), 's', NULL, 'reload', '0', NULL, NULL, 'integer',
       'seconds between checkpoints; 0: no such limit', TO_CHAR(ckptfrequency), NULL, 0
FROM sys.v$ckpt_config
UNION ALL
SELECT 'CkptLogVolume', TO_CHAR(ckptlogvolume), 'MB', NULL, 'reload', '0', NULL, NULL, 'integer',
       'log between checkpoints; 0: no such limit', TO_CHAR(ckptlogvolume), NULL, 0
FROM sys.v$ckpt_config
UNION ALL
SELECT 'CkptRate', TO_CHAR(ckptrate), 'MB/s', NULL, 'reload', '0', NULL, NULL, 'integer',
       'rate at which a checkpoint is written; 0: no limit', TO_CHAR(ckptrate), NULL, 0
FROM sys.v$ckpt_config
UNION ALL
SELECT param, value, NULL, NULL, 'reload', NULL, NULL, NULL, 'string', 'a parameter of ttDBConfig', value, NULL, 0
FROM sys.v$db_config
UNION ALL
SELECT paramname, paramvalue, NULL, NULL, 'session', NULL, NULL, NULL, 'string', 'an attribute that a session can change',
       paramvalue, NULL, 0
FROM sys.v$configuration
WHERE UPPER(paramname) IN ('COMMITBUFFERSIZEMAX', 'PLSQL_TIMEOUT', 'PLSQL_OPTIMIZE_LEVEL', 'PLSQL_CONN_MEM_LIMIT');

-- name: file_entries
-- What the database keeps.
SELECT 'CkptFrequency', TO_CHAR(ckptfrequency) FROM sys.v$ckpt_config
UNION ALL
SELECT 'CkptLogVolume', TO_CHAR(ckptlogvolume) FROM sys.v$ckpt_config
UNION ALL
SELECT 'CkptRate', TO_CHAR(ckptrate) FROM sys.v$ckpt_config
UNION ALL
SELECT param, value FROM sys.v$db_config;

-- name: settings_file
-- The database itself keeps them.
SELECT 'the database ' || paramvalue FROM sys.v$configuration WHERE paramname = 'DataStore';

-- name: server_identity
-- The path of the database's files.
SELECT paramvalue FROM sys.v$configuration WHERE paramname = 'DataStore';

-- commands: set_setting
-- What is null stays as it is.
SELECT CASE :name
           WHEN 'CkptFrequency' THEN 'BEGIN EXECUTE IMMEDIATE ''CALL ttCkptConfig(' || :value || ', NULL, NULL)''; END;'
           WHEN 'CkptLogVolume' THEN 'BEGIN EXECUTE IMMEDIATE ''CALL ttCkptConfig(NULL, ' || :value || ', NULL)''; END;'
           WHEN 'CkptRate' THEN 'BEGIN EXECUTE IMMEDIATE ''CALL ttCkptConfig(NULL, NULL, ' || :value || ')''; END;'
           ELSE 'BEGIN EXECUTE IMMEDIATE ''CALL ttDBConfig(''''' || :name || ''''', ''''' || :value || ''''')''; END;'
       END
FROM dual
WHERE :apply_by IS NOT NULL;

-- commands: set_running_setting
SELECT CASE :name
           WHEN 'CkptFrequency' THEN 'BEGIN EXECUTE IMMEDIATE ''CALL ttCkptConfig(' || :value || ', NULL, NULL)''; END;'
           WHEN 'CkptLogVolume' THEN 'BEGIN EXECUTE IMMEDIATE ''CALL ttCkptConfig(NULL, ' || :value || ', NULL)''; END;'
           WHEN 'CkptRate' THEN 'BEGIN EXECUTE IMMEDIATE ''CALL ttCkptConfig(NULL, NULL, ' || :value || ')''; END;'
           ELSE 'BEGIN EXECUTE IMMEDIATE ''CALL ttDBConfig(''''' || :name || ''''', ''''' || :value || ''''')''; END;'
       END
FROM dual;

-- commands: set_in_session
-- Sets an attribute until this session ends. Others have no such command, which is an error.
SELECT 'ALTER SESSION SET '
       || CASE UPPER(:name) WHEN 'COMMITBUFFERSIZEMAX' THEN 'COMMIT_BUFFER_SIZE_MAX' ELSE :name END
       || ' = ' || :value
FROM dual;

-- name: reset_setting
-- None has a default to which it could be reset; a sweep sets the value that it found.
SELECT :name FROM dual WHERE 1 = 0;

-- name: running_settings
-- None: the database keeps what it runs with.
SELECT paramname, paramvalue, 0 FROM sys.v$configuration WHERE 1 = 0;

-- name: reload_settings
-- Nothing: changes apply at once.
BEGIN
    NULL;
END;
/

-- name: settings_loaded_at
-- The current time, since changes apply at once. When the database was loaded is not known in this form.
SELECT SYSDATE, TO_DATE('2000-01-01', 'YYYY-MM-DD') FROM dual;

-- name: grants_to_set
-- The command that lets this account change them; no row if it may.
SELECT 'GRANT ADMIN TO ' || USER FROM dual
WHERE NOT EXISTS (SELECT 1 FROM sys.user_sys_privs WHERE privilege = 'ADMIN');

-- commands: remove_old_rows
-- Old versions go with their transactions. Changes in groups of cache_groups: flush are sent to Oracle Database.
SELECT 'FLUSH CACHE GROUP ' || RTRIM(cgname) FROM sys.cache_group
WHERE RTRIM(cgowner) = USER AND RTRIM(cgname) LIKE '%!_CACHE!_FLUSH' ESCAPE '!';

-- name: checkpoint
-- Writes the changed pages of memory to the checkpoint file.
BEGIN
    EXECUTE IMMEDIATE 'CALL ttCkpt';
END;
/

-- name: rest_settings
-- None: after its checkpoint the server is idle.
SELECT paramname, paramvalue FROM sys.v$configuration WHERE 1 = 0;
