-- Queries of a session on Apache Derby.

-- name: server_version
-- That of the database's catalog.
SELECT SYSCS_UTIL.SYSCS_GET_DATABASE_PROPERTY('DataDictionaryVersion') || ' (Apache Derby)' FROM SYSIBM.SYSDUMMY1;

-- name: read_settings
-- Properties that decide how long a session waits for a lock; null where the server's own file has them.
SELECT name, SYSCS_UTIL.SYSCS_GET_DATABASE_PROPERTY(name), CAST(NULL AS VARCHAR(1)), CAST(NULL AS VARCHAR(1)), 0
FROM (VALUES CAST('derby.locks.waitTimeout' AS VARCHAR(40)), 'derby.locks.deadlockTimeout', 'derby.storage.pageSize')
     AS properties (name);
