-- Queries of a session; they need no special privileges.

-- name: backend
-- The process that serves this session, and how long the server has been running, in seconds.
SELECT pg_backend_pid(), extract(epoch FROM clock_timestamp() - pg_postmaster_start_time());

-- name: role
-- Whether the server accepts changes.
SELECT CASE WHEN pg_is_in_recovery() THEN 'standby'
            WHEN current_setting('transaction_read_only') = 'on' THEN 'read-only'
            ELSE 'primary' END;

-- name: read_only_by
-- Which setting makes the transactions of this account read-only, and who sets it; no row if none does.
SELECT s.name || ' is on, which is set by ' || {{setter(s)}}
FROM pg_settings AS s
WHERE s.name = 'default_transaction_read_only' AND s.setting = 'on' AND NOT pg_is_in_recovery();

-- name: replication_lag
-- In seconds: on a standby, the age of what it replayed last, 0 if it has replayed all that it received; on a primary,
-- the lag of the slowest standby that the account may see. Null without replication.
SELECT CASE WHEN NOT pg_is_in_recovery()
            THEN (SELECT max(coalesce(extract(epoch FROM replay_lag), 0))
                  FROM pg_stat_replication WHERE replay_lsn IS NOT NULL)
            WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
            ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END;

-- name: clock
-- The server's time, in seconds since 1970.
SELECT extract(epoch FROM clock_timestamp());

-- name: long_answer
SELECT repeat('x', :size);

-- name: encryption
-- The protocol that encrypts this connection; empty if none does.
SELECT coalesce(version, '') FROM pg_stat_ssl WHERE pid = pg_backend_pid();

-- name: advised_grants
-- What this account lacks: the command that grants it, and what is missing without it.
SELECT format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user), 'hdbkit cannot build a schema'
WHERE NOT has_database_privilege(current_database(), 'CREATE')
UNION ALL
SELECT format('GRANT pg_monitor TO %I', current_user),
       'replication lag, waiting locks of other accounts, and some settings are not visible'
WHERE NOT pg_has_role(current_user, 'pg_monitor', 'USAGE')
UNION ALL
SELECT format('GRANT pg_checkpoint TO %I', current_user), 'a sweep cannot request a checkpoint between runs'
WHERE NOT pg_has_role(current_user, 'pg_checkpoint', 'USAGE');

-- name: disturbing_settings
-- Settings whose values disturb runs, or make their results incomparable: name, value, effect.
SELECT s.name, current_setting(s.name), w.effect
FROM pg_settings AS s
JOIN (VALUES
    ('fsync', 'off', 'a failure of the host can destroy the database; results do not compare to those of a durable server'),
    ('full_page_writes', 'off', 'a failure of the host can destroy pages; less log is written than by a safe server'),
    ('synchronous_commit', 'off', 'acknowledged commits can be lost when the server fails'),
    ('autovacuum', 'off', 'dead rows slow down long runs'),
    ('log_statement', 'all', 'each statement is written to the log'),
    ('log_statement', 'mod', 'each statement that changes data is written to the log'),
    ('log_min_duration_statement', '0', 'each statement is written to the log'),
    ('log_duration', 'on', 'the duration of each statement is written to the log'),
    ('debug_assertions', 'on', 'the server was compiled with assertions, which slow it down')
) AS w (name, value, effect) ON w.name = s.name AND w.value = s.setting
UNION ALL
SELECT name, current_setting(name), 'a write-heavy run causes a checkpoint each time so much log is written'
FROM pg_settings WHERE name = 'max_wal_size' AND setting::bigint < 4096
UNION ALL
SELECT name, current_setting(name), 'a window that is not much longer contains a checkpoint or none, by chance'
FROM pg_settings WHERE name = 'checkpoint_timeout' AND setting::integer < 900
UNION ALL
SELECT 'synchronous_standby_names', s.names,
       format('commits wait until %s of these standbys confirm them, and %s are connected', s.needed, s.connected)
FROM (SELECT n.names, coalesce(substring(n.names FROM '^(?:FIRST|ANY)?\s*(\d+)\s*\('), '1')::integer AS needed,
             (SELECT count(*) FROM pg_stat_replication WHERE coalesce(sync_state, 'sync') IN ('sync', 'quorum')) AS connected
      FROM (SELECT current_setting('synchronous_standby_names') AS names) AS n) AS s
WHERE s.names <> '' AND s.connected < s.needed AND current_setting('synchronous_commit') NOT IN ('off', 'local')
UNION ALL
SELECT name, setting, 'the plans of slow statements are written to the log'
FROM pg_settings WHERE name = 'shared_preload_libraries' AND setting LIKE '%auto_explain%';

-- name: write_cycle
-- The setting that decides how often all changed pages are written to the files, its value, and the cycle in seconds.
SELECT name, current_setting(name), setting::integer FROM pg_settings WHERE name = 'checkpoint_timeout';

-- name: publish_work
-- The counters of this session become visible at once and not within a second; those of workers are already.
SELECT pg_stat_force_next_flush();

-- name: work_of_server
-- Rows of scans of tables and of indexes, bytes that were not in shared buffers, and temporary files, in this database.
SELECT pg_stat_get_db_tuples_returned(oid),
       (pg_stat_get_db_blocks_fetched(oid) - pg_stat_get_db_blocks_hit(oid)) * current_setting('block_size')::bigint,
       pg_stat_get_db_temp_files(oid)
FROM pg_database WHERE datname = current_database();

-- name: set_local
-- A setting for the rest of the transaction.
SET LOCAL {name} = {value};

-- name: set_session
-- A setting for the rest of the session.
SELECT set_config(:name, :value, false);

-- name: forget_prepared
-- Removes a prepared statement.
DEALLOCATE {name};

-- name: timeouts
-- The timeouts of this session: what each ends, its milliseconds, and who sets it. Some exist from version 17 on.
SELECT e.ends, CASE WHEN s.unit = 'ms' THEN s.setting::bigint END,
       {{setter(s)}}
FROM (VALUES
    (1, 'statement_timeout', 'statements'), (2, 'transaction_timeout', 'transactions'),
    (3, 'lock_timeout', 'waits for a lock'), (4, 'idle_in_transaction_session_timeout', 'idle transactions'),
    (5, 'idle_session_timeout', 'idle sessions')) AS e (position, name, ends)
JOIN pg_settings AS s ON s.name = e.name
WHERE s.setting <> '0'
ORDER BY e.position;

-- name: counters
-- Running totals over all databases, one per row.
SELECT c.name, c.value
FROM (SELECT sum(xact_commit) AS commits, sum(xact_rollback) AS rollbacks, sum(deadlocks) AS deadlocks,
             sum(blks_hit) AS blks_hit, sum(blks_read) AS blks_read, sum(temp_bytes) AS temp_bytes
      FROM pg_stat_database) AS d
CROSS JOIN LATERAL (VALUES
    ('commits', d.commits), ('rollbacks', d.rollbacks), ('deadlocks', d.deadlocks), ('blks_hit', d.blks_hit),
    ('blks_read', d.blks_read), ('temp_bytes', d.temp_bytes),
    ('uptime_s', extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()))) AS c (name, value);

-- name: counters_of_log
-- Running totals of the write-ahead log.
SELECT c.name, c.value
FROM (SELECT wal_bytes, wal_fpi, wal_records FROM pg_stat_wal) AS w
CROSS JOIN LATERAL (VALUES
    ('wal_bytes', w.wal_bytes), ('wal_fpi', w.wal_fpi), ('wal_records', w.wal_records)) AS c (name, value);

-- name: counters_of_tables
-- Running totals of this database: autovacuums and rows of sequential scans.
SELECT c.name, c.value
FROM (SELECT sum(autovacuum_count) AS autovacuums, sum(seq_tup_read) AS scanned_rows
      FROM pg_stat_user_tables) AS t
CROSS JOIN LATERAL (VALUES ('autovacuums', t.autovacuums), ('scanned_rows', t.scanned_rows)) AS c (name, value);

-- name: recent_events
-- Checkpoints, from their beginning, and automatic vacuums and analyses of the last minute, at their end.
SELECT e.kind, e.text, extract(epoch FROM clock_timestamp() - e.at)
FROM (SELECT 'checkpoint' AS kind, 'began' AS text, checkpoint_time AS at FROM pg_control_checkpoint()
      UNION ALL
      SELECT 'automatic vacuum', 'of ' || relname, last_autovacuum FROM pg_stat_all_tables
      UNION ALL
      SELECT 'automatic analyze', 'of ' || relname, last_autoanalyze FROM pg_stat_all_tables) AS e
WHERE e.at > clock_timestamp() - interval '1 minute';

-- name: waiting_locks
-- Sessions that wait for a lock.
SELECT 'waiting_locks', count(*) FROM pg_locks WHERE NOT granted;

-- name: file_operations
-- Running totals of I/O on tables and indexes, one per row: of all processes, and of client backends. Version 16 and
-- later.
SELECT c.name, c.value
FROM (SELECT sum(reads) AS reads, sum(writes) AS writes, sum(extends) AS extends, sum(evictions) AS evictions,
             sum(fsyncs) AS fsyncs,
             sum(writes) FILTER (WHERE backend_type = 'client backend') AS client_writes
      FROM pg_stat_io
      WHERE object = 'relation') AS o
CROSS JOIN LATERAL (VALUES
    ('file_reads', o.reads), ('file_writes', o.writes), ('file_extends', o.extends), ('evictions', o.evictions),
    ('file_fsyncs', o.fsyncs), ('client_writes', o.client_writes)) AS c (name, value);

-- name: footprint
-- Size of this database in bytes; name and size in bytes of the server's cache.
SELECT pg_database_size(current_database()), 'shared_buffers', pg_size_bytes(current_setting('shared_buffers'));

-- name: checkpoints
-- Number of checkpoints. Version 17 and later.
SELECT num_timed + num_requested FROM pg_stat_checkpointer;

-- name: checkpoints_before_17
SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter;

-- name: free_connections
-- Connections that the server, the database and the role still allow; null if there is no limit.
SELECT CASE WHEN r.rolsuper THEN s.most - s.used ELSE s.most - s.reserved - s.used END,
       CASE WHEN d.datconnlimit >= 0 AND NOT r.rolsuper THEN d.datconnlimit - d.used END,
       CASE WHEN r.rolconnlimit >= 0 AND NOT r.rolsuper THEN r.rolconnlimit - r.used END
FROM (SELECT current_setting('max_connections')::integer AS most,
             current_setting('superuser_reserved_connections')::integer
             + coalesce(current_setting('reserved_connections', true)::integer, 0) AS reserved,
             (SELECT sum(numbackends)::integer FROM pg_stat_database) AS used) AS s,
     (SELECT datconnlimit, pg_stat_get_db_numbackends(oid) AS used
      FROM pg_database WHERE datname = current_database()) AS d,
     (SELECT rolsuper, rolconnlimit,
             (SELECT count(*)::integer FROM pg_stat_activity WHERE usesysid = pg_roles.oid AND datid IS NOT NULL) AS used
      FROM pg_roles WHERE rolname = current_user) AS r;

-- name: read_settings
-- Every setting as seen by this session, and whether it was set to another value than the default, except settings
-- that the server computes, session settings, addresses, and locales. Settings that may contain a password are
-- excluded.
SELECT name, setting, unit, boot_val,
       setting IS DISTINCT FROM boot_val
       AND source IN ('configuration file', 'command line', 'global', 'database', 'user', 'database user')
       AND name NOT IN ('port', 'listen_addresses', 'unix_socket_directories', 'unix_socket_group',
                        'unix_socket_permissions', 'TimeZone', 'log_timezone', 'lc_messages',
                        'default_text_search_config')
FROM pg_settings
WHERE name NOT IN ('primary_conninfo', 'ssl_passphrase_command', 'archive_command', 'restore_command')
ORDER BY name;

-- name: account
-- Whether this account is a superuser, and whether role and database exist.
SELECT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
       (SELECT count(*) FROM pg_roles WHERE rolname = :role),
       (SELECT count(*) FROM pg_database WHERE datname = :database);

-- commands: create_role
-- The client computes the verifier, so that no password is sent.
SELECT format('CREATE ROLE %I LOGIN PASSWORD %L', :role::text, :verifier::text);

-- commands: grant_slow_plans
-- Lets the account of a private server have the plans of its own slow statements reported.
SELECT format('GRANT SET ON PARAMETER session_preload_libraries, auto_explain.log_min_duration, auto_explain.log_analyze, '
              'auto_explain.log_nested_statements, auto_explain.log_level TO %I', :role::text);

-- name: slow_plans_obstacle
-- Sessions of this account that load other libraries; an account that may not see them has no row.
SELECT format('session_preload_libraries is %L, which auto_explain would replace', setting) FROM pg_settings
WHERE name = 'session_preload_libraries' AND setting <> '';

-- commands: grant_role
SELECT format('GRANT %I TO CURRENT_USER', :role::text);

-- commands: create_database
SELECT format('CREATE DATABASE %I OWNER %I', :database::text, :role::text);

-- name: server_version
SELECT split_part(current_setting('server_version'), ' ', 1);

-- commands: set_in_session
-- Sets a setting until this session ends. Plans that the session keeps were made with the earlier value.
SELECT format('SELECT set_config(%L, %L, false); DISCARD PLANS', :name::text, :value::text);

-- name: explain_text
-- The plan of a statement.
EXPLAIN {statement};

-- name: explain_json
EXPLAIN (FORMAT JSON) {statement};

-- name: explain_generic
-- The plan that serves all values, as sessions may use it from the sixth execution on. Version 16 and later.
EXPLAIN (GENERIC_PLAN) {statement};
