-- lexer: text, escape_text, dollar_text, name, line_comment, nested_comment

-- fragment: returning(columns)
RETURNING {columns}

-- fragment: setter(s)
-- Who sets the setting of a row of pg_settings, and the command that resets it.
CASE {s}.source
    WHEN 'client' THEN 'hdbkit or an option of the target'
    WHEN 'session' THEN 'hdbkit'
    WHEN 'user' THEN format('the account (ALTER ROLE %I RESET %s)', session_user, {s}.name)
    WHEN 'database' THEN format('the database (ALTER DATABASE %I RESET %s)', current_database(), {s}.name)
    WHEN 'database user' THEN format('the account in this database (ALTER ROLE %I IN DATABASE %I RESET %s)',
                                     session_user, current_database(), {s}.name)
    WHEN 'global' THEN format('a setting for all accounts (ALTER ROLE ALL RESET %s)', {s}.name)
    ELSE 'the server (' || {s}.source || ')'
END

-- fragment: wait_class(type, event)
CASE WHEN {type} = 'Lock' THEN 'lock'
            WHEN {type} = 'LWLock' AND {event} IN ('WALInsert', 'WALBufMapping') THEN 'latch'
            WHEN {event} ILIKE 'WAL%' OR {event} IN ('SyncRep', 'SyncRepLock') THEN 'log'
            WHEN {type} = 'IO' THEN 'disk'
            WHEN {type} IN ('LWLock', 'BufferPin', 'Buffer') THEN 'latch'
            WHEN {type} = 'Client' THEN 'client'
            ELSE 'other' END

-- fragment: statement_totals
SELECT queryid::text AS queryid, min(left(regexp_replace(query, '\s+', ' ', 'g'), 300)) AS text,
       sum(calls)::float8 AS calls, sum(total_exec_time)::float8 AS time_ms, sum(rows)::float8 AS rows,
       NULL::float8 AS rows_read, sum(shared_blks_hit + shared_blks_read)::float8 AS pages,
       sum(shared_blks_read)::float8 AS pages_from_files, sum(wal_bytes)::float8 AS log_bytes
FROM pg_stat_statements
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND queryid IS NOT NULL
  AND query NOT LIKE '%pg_stat_statements%'
GROUP BY queryid
