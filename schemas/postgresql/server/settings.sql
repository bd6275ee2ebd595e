-- Settings of the server, and the saved copy of a database.

-- name: control_settings
-- Every setting that this account may read, as seen by this session, and what a change requires, as reported by the
-- server. The server does not report which settings are lists of names.
SELECT name, setting, unit, boot_val,
       CASE context
           WHEN 'internal' THEN 'fixed'
           WHEN 'postmaster' THEN 'restart'
           WHEN 'sighup' THEN 'reload'
           WHEN 'backend' THEN 'reload'
           WHEN 'superuser-backend' THEN 'reload'
           ELSE 'session'
       END AS apply_by,
       min_val, max_val, enumvals,
       CASE
           WHEN name IN ('local_preload_libraries', 'search_path', 'session_preload_libraries',
                         'shared_preload_libraries', 'temp_tablespaces', 'unix_socket_directories') THEN 'list'
           ELSE vartype
       END AS kind,
       short_desc,
       current_setting(name) AS shown,
       CASE source
           WHEN 'user' THEN 'the account''s own setting'
           WHEN 'database' THEN 'the database''s own setting'
           WHEN 'database user' THEN 'the account''s own setting in this database'
           WHEN 'global' THEN 'a setting for all accounts'
           WHEN 'client' THEN 'the client''s connection'
           WHEN 'command line' THEN 'the server''s command line'
       END AS winner,
       pending_restart
FROM pg_settings
ORDER BY name;

-- name: file_entries
-- The entries of the file that ALTER SYSTEM writes; the last entry of a name applies.
SELECT name, setting
FROM pg_file_settings
WHERE right(sourcefile, 20) = 'postgresql.auto.conf' AND name IS NOT NULL
ORDER BY seqno;

-- name: settings_file
-- The file that ALTER SYSTEM writes; its folder is only visible to privileged accounts.
SELECT coalesce((SELECT setting || '/' FROM pg_settings WHERE name = 'data_directory'), '')
       || 'postgresql.auto.conf';

-- name: server_identity
-- The port of the server, and the unique id of its data folder.
SELECT current_setting('port') || '/' || system_identifier
FROM pg_control_system();

-- commands: set_setting
-- Sets a setting for all sessions. The items of a list are quoted separately; for an empty list the entry is removed,
-- since '' would be a list with one empty name.
SELECT CASE
           WHEN s.is_list AND btrim(:value::text) = '' THEN 'ALTER SYSTEM RESET ' || s.quoted
           WHEN s.is_list THEN 'ALTER SYSTEM SET ' || s.quoted || ' = ' || (
               SELECT string_agg(quote_literal(btrim(i.item, ' "')), ', ' ORDER BY i.position)
               FROM unnest(string_to_array(:value::text, ',')) WITH ORDINALITY AS i (item, position))
           ELSE 'ALTER SYSTEM SET ' || s.quoted || ' = ' || quote_literal(:value::text)
       END
FROM (SELECT string_agg(quote_ident(p.part), '.' ORDER BY p.position) AS quoted,
             :name::text IN ('local_preload_libraries', 'search_path', 'session_preload_libraries',
                             'shared_preload_libraries', 'temp_tablespaces', 'unix_socket_directories') AS is_list
      FROM unnest(string_to_array(:name::text, '.')) WITH ORDINALITY AS p (part, position)) AS s;

-- commands: reset_setting
-- Removes a setting's entry.
SELECT 'ALTER SYSTEM RESET ' || string_agg(quote_ident(p.part), '.' ORDER BY p.position)
FROM unnest(string_to_array(:name::text, '.')) WITH ORDINALITY AS p (part, position);

-- name: grants_to_keep
-- The command that lets this account change a setting; no row if it may.
SELECT 'GRANT ALTER SYSTEM ON PARAMETER ' || string_agg(quote_ident(p.part), '.' ORDER BY p.position)
       || ' TO ' || quote_ident(current_user)
FROM unnest(string_to_array(:name::text, '.')) WITH ORDINALITY AS p (part, position)
HAVING NOT has_parameter_privilege(:name::text, 'ALTER SYSTEM');

-- name: grants_to_read_file
-- The commands that let this account read which settings were changed; no row if it may.
SELECT 'GRANT ' || g.granted || ' TO ' || quote_ident(current_user)
FROM (VALUES
          ('SELECT ON pg_file_settings', has_table_privilege('pg_file_settings', 'SELECT')),
          ('EXECUTE ON FUNCTION pg_show_all_file_settings()',
           has_function_privilege('pg_show_all_file_settings()', 'EXECUTE'))) AS g (granted, permitted)
WHERE NOT g.permitted;

-- name: grants_to_reload
-- The command that lets this account make the server reload its files; no row if it may.
SELECT 'GRANT EXECUTE ON FUNCTION pg_reload_conf() TO ' || quote_ident(current_user)
WHERE NOT has_function_privilege('pg_reload_conf()', 'EXECUTE');

-- name: reload_settings
-- Makes the server reload its files, asynchronously.
SELECT pg_reload_conf();

-- name: settings_loaded_at
-- The time of the last reload; only new sessions see the new time.
SELECT pg_conf_load_time(), pg_postmaster_start_time();

-- commands: remove_old_rows
-- Of the tables that this account may vacuum: VACUUM alone writes a warning to the server's log for each other one.
SELECT format('VACUUM %s', string_agg(format('%I.%I', n.nspname, c.relname), ', '))
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_database AS d ON d.datname = current_database()
WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't'
  AND (pg_has_role(c.relowner, 'USAGE') OR (pg_has_role(d.datdba, 'USAGE') AND NOT c.relisshared)
       OR CASE WHEN current_setting('server_version_num')::integer < 170000 THEN false
               ELSE has_table_privilege(c.oid, 'MAINTAIN') END)
HAVING count(*) > 0;

-- name: checkpoint
-- Writes all dirty pages.
CHECKPOINT;

-- name: end_other_sessions
-- Ends every other session of a database.
SELECT pg_terminate_backend(pid)
FROM pg_stat_activity
WHERE datname = :database_name AND pid <> pg_backend_pid();

-- name: copy_alone
-- Waits for another session that is copying; the copy of a killed client continues to its end. Lasts for this
-- session.
SET lock_timeout = 0;
SELECT pg_advisory_lock(1752457835);
RESET lock_timeout;

-- name: copy_database
-- Creates a database as a copy of another, file by file (about 3 s per GB, without WAL).
CREATE DATABASE {copy} OWNER {owner} TEMPLATE {original} STRATEGY file_copy;

-- name: close_database
-- Disallows connections, so that the copy does not change.
ALTER DATABASE {copy} ALLOW_CONNECTIONS false;

-- name: remove_database
-- Drops a database, and ends the sessions that use it.
DROP DATABASE IF EXISTS {copy} WITH (FORCE);

-- name: database_exists
-- One row if a complete database of that name exists; after a crash during DROP DATABASE, its connection limit is -2.
SELECT 1 FROM pg_database WHERE datname = :database_name AND datconnlimit <> -2;

-- name: running_settings
-- None: all values come from the server's files.
SELECT name, setting, false FROM pg_settings WHERE false;

-- commands: set_running_setting
-- None, as above.
SELECT :name::text || :value::text WHERE false;

-- name: rest_settings
-- None: after its checkpoint the server is idle.
SELECT name, setting FROM pg_settings WHERE false;

-- name: rest_left
-- Row versions that nobody can see, as far as the server's statistics know them.
SELECT 'old row versions', coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables;
