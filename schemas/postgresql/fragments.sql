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
            WHEN {event} ILIKE 'WAL%' OR {event} IN ('SyncRep', 'SyncRepLock') THEN 'log'
            WHEN {type} = 'IO' THEN 'disk'
            WHEN {type} IN ('LWLock', 'BufferPin', 'Buffer') THEN 'latch'
            WHEN {type} = 'Client' THEN 'client'
            ELSE 'other' END
