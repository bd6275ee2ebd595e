-- What Babelfish cannot answer.

-- name: footprint
-- The size of this database's data files; the setting that limits the server's memory, and that size in bytes.
SELECT SUM(CAST(size AS BIGINT)) * 8192, 'max server memory (MB)',
       (SELECT CAST(value_in_use AS BIGINT) * 1048576 FROM sys.configurations WHERE name = 'max server memory (MB)')
FROM sys.database_files WHERE type = 0;

-- name: counters
-- Running totals of the server; those whose names end in /sec are totals, too. Requires VIEW SERVER STATE.
SELECT CASE RTRIM(counter_name) WHEN 'Batch Requests/sec' THEN 'batch_requests'
                                WHEN 'Number of Deadlocks/sec' THEN 'deadlocks' ELSE 'checkpoint_pages' END,
       cntr_value
FROM sys.dm_os_performance_counters
WHERE counter_name IN ('Batch Requests/sec', 'Checkpoint pages/sec')
   OR (counter_name = 'Number of Deadlocks/sec' AND instance_name = '_Total')
UNION ALL
SELECT 'uptime_s', DATEDIFF(SECOND, sqlserver_start_time, SYSDATETIME()) FROM sys.dm_os_sys_info;

-- name: role
-- A readable secondary of an availability group is read-only, too.
SELECT CASE DATABASEPROPERTYEX(DB_NAME(), 'Updateability') WHEN 'READ_ONLY' THEN 'read-only' ELSE 'primary' END;

-- name: advised_grants
-- What this account lacks: the command that grants it, and what is missing without it. Rights on the server are granted
-- in master.
SELECT CONCAT('USE master; GRANT ', p.permission, ' TO ', QUOTENAME(SUSER_SNAME())), p.effect
FROM (VALUES ('VIEW SERVER STATE', 'runs have no counters of the server, and no engine TPM'),
             ('ALTER ANY CONNECTION', 'faults cannot end sessions')) AS p (permission, effect)
WHERE HAS_PERMS_BY_NAME(NULL, NULL, p.permission) = 0
UNION ALL
SELECT CONCAT('GRANT ', p.permission, ' TO ', QUOTENAME(USER_NAME())), p.effect
FROM (VALUES ('CREATE TABLE', 'hdbkit cannot build a schema'),
             ('CREATE PROCEDURE', 'hdbkit cannot create the stored routines')) AS p (permission, effect)
WHERE HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', p.permission) = 0;

-- name: disturbing_settings
-- Settings of this database whose values disturb runs, or make their results incomparable: name, value, effect.
SELECT 'DELAYED_DURABILITY', delayed_durability_desc, 'acknowledged commits can be lost'
FROM sys.databases WHERE database_id = DB_ID() AND delayed_durability > 0
UNION ALL
SELECT 'AUTO_SHRINK', 'ON', 'the server shrinks files during runs'
FROM sys.databases WHERE database_id = DB_ID() AND is_auto_shrink_on = 1
UNION ALL
SELECT 'AUTO_CLOSE', 'ON', 'the server closes the database while nobody uses it'
FROM sys.databases WHERE database_id = DB_ID() AND is_auto_close_on = 1
UNION ALL
SELECT 'PAGE_VERIFY', page_verify_option_desc, 'damaged pages are not detected'
FROM sys.databases WHERE database_id = DB_ID() AND page_verify_option < 2;

-- name: explain_text
-- The plan of a statement. Its last column is a line; the first result has the statement itself. Requires SHOWPLAN.
SET SHOWPLAN_TEXT ON;
{statement};
SET SHOWPLAN_TEXT OFF;

-- name: explain_json
-- The same as XML, which is what the server has for programs.
SET SHOWPLAN_XML ON;
{statement};
SET SHOWPLAN_XML OFF;
