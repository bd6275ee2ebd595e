-- Settings of the server, and the kept copy of a database.

-- name: control_settings
-- Every setting that this account may see, as this session has it; what it takes to change it is the server's word.
-- Only which ones are lists of names the server does not tell.
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
-- What stands in the file that ALTER SYSTEM writes; the last entry of a name counts.
SELECT name, setting
FROM pg_file_settings
WHERE right(sourcefile, 20) = 'postgresql.auto.conf' AND name IS NOT NULL
ORDER BY seqno;

-- name: settings_file
-- The file that ALTER SYSTEM writes; its folder is told to those alone who may see it.
SELECT coalesce((SELECT setting || '/' FROM pg_settings WHERE name = 'data_directory'), '')
       || 'postgresql.auto.conf';

-- name: server_identity
-- The port the server itself listens on, and the number its data folder got when it was made.
SELECT current_setting('port') || '/' || system_identifier
FROM pg_control_system();

-- commands: set_setting
-- Sets a setting for all. The items of a list are quoted one by one; an empty list is removed,
-- since set to '' it would hold one item without a name.
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

-- name: reload_settings
-- Has the server read its files again; it does so a moment later.
SELECT pg_reload_conf();

-- name: settings_loaded_at
-- When the files were last read: a session made after a reload tells the new time.
SELECT pg_conf_load_time(), pg_postmaster_start_time();

-- name: remove_old_rows
-- In the whole database; an ordinary account does it in its own tables.
VACUUM;

-- name: checkpoint
-- Writes all changed pages.
CHECKPOINT;

-- name: end_other_sessions
-- Ends every other session of a database.
SELECT pg_terminate_backend(pid)
FROM pg_stat_activity
WHERE datname = :database_name AND pid <> pg_backend_pid();

-- name: copy_alone
-- Waits for another session that copies: one whose client was killed goes on to its end. Ends with this session.
SELECT pg_advisory_lock(1752457835);

-- name: copy_database
-- A database as the copy of another, file by file (about 3 s a GB, and nothing of it in the log).
CREATE DATABASE {copy} OWNER {owner} TEMPLATE {original} STRATEGY file_copy;

-- name: close_database
-- Lets nobody connect, so that nothing changes in it.
ALTER DATABASE {copy} ALLOW_CONNECTIONS false;

-- name: remove_database
-- Removes a database, and the sessions that use it.
DROP DATABASE IF EXISTS {copy} WITH (FORCE);

-- name: database_exists
-- One row if there is a whole database of that name: a server that was killed while it dropped one leaves it with
-- a connection limit of -2.
SELECT 1 FROM pg_database WHERE datname = :database_name AND datconnlimit <> -2;

-- name: running_settings
-- None: what the server runs with comes from its file alone.
SELECT name, setting FROM pg_settings WHERE false;

-- commands: set_running_setting
-- None, as above.
SELECT :name::text || :value::text WHERE false;

-- name: rest_settings
-- None: after its checkpoint the server is at rest.
SELECT name, setting FROM pg_settings WHERE false;
