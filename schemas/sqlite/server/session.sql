-- Queries of a session.

-- name: server_version
SELECT sqlite_version();

-- name: footprint
-- Size of the file; name and size in bytes of the page cache of each connection: in pages, or in KiB if negative.
SELECT c.page_count * s.page_size, 'cache_size',
       CASE WHEN z.cache_size < 0 THEN -1024 * z.cache_size ELSE z.cache_size * s.page_size END
FROM pragma_page_count AS c, pragma_page_size AS s, pragma_cache_size AS z;

-- name: read_settings
-- Settings of this connection, and of the file; none has a known default.
SELECT 'journal_mode', journal_mode, NULL, NULL, 0 FROM pragma_journal_mode
UNION ALL SELECT 'synchronous', synchronous, NULL, NULL, 0 FROM pragma_synchronous
UNION ALL SELECT 'cache_size', cache_size, NULL, NULL, 0 FROM pragma_cache_size
UNION ALL SELECT 'page_size', page_size, NULL, NULL, 0 FROM pragma_page_size;

-- name: disturbing_settings
-- Settings whose values make results incomparable: name, value, effect.
SELECT 'synchronous', synchronous, CASE synchronous WHEN 0 THEN 'a failure of the host can destroy the database'
                                                ELSE 'acknowledged commits can be lost when the host fails' END
FROM pragma_synchronous WHERE synchronous < 2
UNION ALL
SELECT 'journal_mode', journal_mode, 'readers and the writer wait for each other' FROM pragma_journal_mode
WHERE journal_mode <> 'wal';

-- name: set_journal_mode
PRAGMA journal_mode = {mode};

-- name: set_synchronous
PRAGMA synchronous = {mode};

-- name: set_cache_size_kib
-- The page cache of this connection, in KiB.
PRAGMA cache_size = -{mode};

-- name: begin_to_write
-- Waits until no other connection writes.
BEGIN IMMEDIATE;
