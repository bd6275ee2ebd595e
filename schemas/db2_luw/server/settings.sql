-- Settings of the server: the configuration of the database, and with the prefix dbm. that of the instance; changed by
-- ADMIN_CMD. A registry variable can only be changed by db2set on the server's host.

-- name: control_settings
-- Every parameter. What Db2's documentation lists as configurable online applies at once ("Configuration parameters
-- summary"); another one waits until the database is activated, or the instance started. AUTOMATIC is a value.
SELECT name, value, CAST(NULL AS VARCHAR(10)) AS unit, CAST(NULL AS VARCHAR(10)) AS default_value,
       CASE
           WHEN name IN ('database_level', 'release', 'codepage', 'codeset', 'country', 'territory', 'collate_info', 'pagesize',
                         'backup_pending', 'database_consistent', 'restore_pending', 'rollfwd_pending', 'log_retain_status',
                         'loghead', 'logpath', 'multipage_alloc', 'user_exit_status', 'hadr_db_role', 'number_compat',
                         'varchar2_compat', 'date_compat', 'restrict_access', 'upgrade_pending', 'dbm.release',
                         'dbm.nodetype')
           THEN 'fixed'
           WHEN name IN ('applheapsz', 'appl_memory', 'archretrydelay', 'autorestart', 'avg_appls', 'blk_log_dsk_ful',
                         'blocknonlogged', 'catalogcache_sz', 'connect_proc', 'database_memory', 'db_mem_thresh', 'dbheap',
                         'dft_degree', 'dft_extent_sz', 'dft_loadrec_ses', 'dft_prefetch_sz', 'dft_queryopt', 'dlchktime',
                         'failarchpath', 'indexrec', 'locklist', 'log_appl_info', 'log_ddl_stmts', 'logarchcompr1',
                         'logarchcompr2', 'logbufsz', 'logindexbuild', 'logsecond', 'max_log', 'maxappls', 'maxfilop',
                         'maxlocks', 'mon_act_metrics', 'mon_deadlock', 'mon_lck_msg_lvl', 'mon_locktimeout', 'mon_lockwait',
                         'mon_lw_thresh', 'mon_obj_metrics', 'mon_pkglist_sz', 'mon_req_metrics', 'mon_uow_data',
                         'num_db_backups', 'num_freqvalues', 'num_log_span', 'num_quantiles', 'numarchretry', 'pckcachesz',
                         'section_actuals', 'self_tuning_mem', 'seqdetect', 'sheapthres_shr', 'sortheap', 'stat_heap_sz',
                         'stmt_conc', 'stmtheap', 'util_heap_sz', 'wlm_collect_int', 'dbm.diaglevel', 'dbm.discover_inst',
                         'dbm.dft_mon_bufpool', 'dbm.dft_mon_lock', 'dbm.dft_mon_sort', 'dbm.dft_mon_stmt',
                         'dbm.dft_mon_table', 'dbm.dft_mon_timestamp', 'dbm.dft_mon_uow', 'dbm.health_mon',
                         'dbm.instance_memory', 'dbm.max_coordagents', 'dbm.max_connections', 'dbm.notifylevel',
                         'dbm.num_poolagents', 'dbm.util_impact_lim', 'dbm.max_querydegree', 'dbm.java_heap_sz')
                OR name LIKE 'auto\_%' ESCAPE '\'
           THEN 'reload'
           ELSE 'restart'
       END AS apply_by,
       CAST(NULL AS BIGINT) AS minimum, CAST(NULL AS BIGINT) AS maximum, CAST(NULL AS VARCHAR(10)) AS choices,
       CASE WHEN datatype IN ('INTEGER', 'BIGINT', 'SMALLINT') THEN 'integer' ELSE 'string' END AS kind,
       '' AS short_text, value AS shown, CAST(NULL AS VARCHAR(10)) AS winner,
       CASE WHEN deferred <> value THEN 1 ELSE 0 END AS waiting
FROM (SELECT NAME, DATATYPE,
             CASE WHEN VALUE_FLAGS = 'AUTOMATIC' THEN VALUE_FLAGS ELSE VALUE END,
             CASE WHEN DEFERRED_VALUE_FLAGS = 'AUTOMATIC' THEN DEFERRED_VALUE_FLAGS ELSE DEFERRED_VALUE END
      FROM SYSIBMADM.DBCFG WHERE MEMBER = CURRENT MEMBER
      UNION ALL
      SELECT 'dbm.' || NAME, DATATYPE,
             CASE WHEN VALUE_FLAGS = 'AUTOMATIC' THEN VALUE_FLAGS ELSE VALUE END,
             CASE WHEN DEFERRED_VALUE_FLAGS = 'AUTOMATIC' THEN DEFERRED_VALUE_FLAGS ELSE DEFERRED_VALUE END
      FROM SYSIBMADM.DBMCFG) AS known (name, datatype, value, deferred)
ORDER BY name;

-- name: file_entries
-- What the files of the configuration have.
SELECT NAME, CASE WHEN DEFERRED_VALUE_FLAGS = 'AUTOMATIC' THEN DEFERRED_VALUE_FLAGS ELSE DEFERRED_VALUE END
FROM SYSIBMADM.DBCFG WHERE MEMBER = CURRENT MEMBER
UNION ALL
SELECT 'dbm.' || NAME, CASE WHEN DEFERRED_VALUE_FLAGS = 'AUTOMATIC' THEN DEFERRED_VALUE_FLAGS ELSE DEFERRED_VALUE END
FROM SYSIBMADM.DBMCFG;

-- name: settings_file
-- The configuration belongs to the database, whose files are the server's own.
SELECT 'the configuration of the database ' || CURRENT SERVER FROM SYSIBM.SYSDUMMY1;

-- name: server_identity
SELECT RTRIM(INST_NAME) || '/' || CURRENT SERVER FROM TABLE(SYSPROC.ENV_GET_INST_INFO()) AS i;

-- commands: set_setting
SELECT 'CALL SYSPROC.ADMIN_CMD(''UPDATE ' || target || ' USING ' || parameter || ' ' || REPLACE(value, '''', '''''''')
       || CASE WHEN apply_by = 'restart' THEN ' DEFERRED' ELSE ' IMMEDIATE' END || ''')'
FROM (SELECT CASE WHEN name LIKE 'dbm.%' THEN 'DBM CFG' ELSE 'DB CFG FOR ' || CURRENT SERVER END,
             REPLACE(name, 'dbm.', ''), value, apply_by
      FROM (VALUES (CAST(:name AS VARCHAR(128)), CAST(:value AS VARCHAR(1000)), CAST(:apply_by AS VARCHAR(10))))
           AS given (name, value, apply_by)) AS change (target, parameter, value, apply_by);

-- commands: set_running_setting
-- Sets a parameter at once; the file has it, too.
SELECT 'CALL SYSPROC.ADMIN_CMD(''UPDATE ' || target || ' USING ' || parameter || ' ' || REPLACE(value, '''', '''''''')
       || ' IMMEDIATE'')'
FROM (SELECT CASE WHEN name LIKE 'dbm.%' THEN 'DBM CFG' ELSE 'DB CFG FOR ' || CURRENT SERVER END,
             REPLACE(name, 'dbm.', ''), value
      FROM (VALUES (CAST(:name AS VARCHAR(128)), CAST(:value AS VARCHAR(1000)))) AS given (name, value))
     AS change (target, parameter, value);

-- name: set_in_session
-- No session has settings of its own.
SELECT CAST(:name AS VARCHAR(128)), CAST(:value AS VARCHAR(1000)) FROM SYSIBM.SYSDUMMY1 WHERE 1 = 0;

-- name: reset_setting
-- One parameter alone cannot be reset; a sweep sets the value that it found.
SELECT CAST(:name AS VARCHAR(128)) FROM SYSIBM.SYSDUMMY1 WHERE 1 = 0;

-- name: running_settings
-- None: the files have what the server runs with, or will run with.
SELECT NAME, VALUE, 0 FROM SYSIBMADM.DBCFG WHERE 1 = 0;

-- name: reload_settings
-- Nothing: changes apply at once, or when the database is activated.
SELECT 1 FROM SYSIBM.SYSDUMMY1;

-- name: settings_loaded_at
-- The current time, since changes apply at once; and when the database was activated.
SELECT CURRENT TIMESTAMP, MIN(DB_CONN_TIME) FROM TABLE(MON_GET_DATABASE(-2)) AS d;

-- name: grants_to_set
-- What lets this account change the configuration; no row if it may.
SELECT 'add ' || RTRIM(SESSION_USER) || ' to the group of SYSMAINT, SYSCTRL or SYSADM (db2 get dbm cfg)'
FROM SYSIBM.SYSDUMMY1
WHERE NOT EXISTS (SELECT 1 FROM TABLE(SYSPROC.AUTH_LIST_AUTHORITIES_FOR_AUTHID(SESSION_USER, 'U')) AS a
                  WHERE AUTHORITY IN ('SYSADM', 'SYSCTRL', 'SYSMAINT') AND 'Y' IN (D_USER, D_GROUP));

-- name: remove_old_rows
-- Nothing: there are no old versions.
SELECT 1 FROM SYSIBM.SYSDUMMY1;

-- name: checkpoint
-- Writes the changed pages of the buffer pools.
FLUSH BUFFERPOOLS ALL;

-- name: rest_settings
-- None: after its checkpoint the server is idle.
SELECT NAME, VALUE FROM SYSIBMADM.DBCFG WHERE 1 = 0;
