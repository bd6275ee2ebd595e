-- A workload's schema is the account's own: it has the tables directly. The catalog has names in upper case, padded with
-- blanks. DDL commits by itself. A built-in procedure is called in a block: OCI reads no result of one.

-- name: list_tables
SELECT LOWER(RTRIM(tblname)) FROM sys.tables WHERE RTRIM(tblowner) = USER ORDER BY tblname;

-- name: list_indexes
-- The index of a primary key may have the name of its table.
SELECT CASE WHEN i.ixname = t.tblname THEN LOWER(RTRIM(t.tblname)) || '_pk' ELSE LOWER(RTRIM(i.ixname)) END
FROM sys.indexes i
JOIN sys.tables t ON t.tblid = i.tblid
WHERE RTRIM(t.tblowner) = USER
ORDER BY i.ixname;

-- name: list_sequences
SELECT LOWER(RTRIM(name)) FROM sys.sequences WHERE RTRIM(owner) = USER ORDER BY name;

-- name: drop_sequence
DROP SEQUENCE {sequence};

-- name: analyze
-- Statistics for the optimizer, after the load; commands that were prepared before are prepared again.
BEGIN
    EXECUTE IMMEDIATE 'CALL ttOptUpdateStats(''' || :table || ''', 1)';
END;
/

-- name: update_statistics
BEGIN
    EXECUTE IMMEDIATE 'CALL ttOptUpdateStats(''' || :table || ''', 1)';
END;
/

-- name: list_cache_groups
SELECT LOWER(RTRIM(cgname)) FROM sys.cache_group WHERE RTRIM(cgowner) = USER ORDER BY cgname;

-- name: load_cache_group
-- Rows of Oracle Database that are not in the cache yet.
LOAD CACHE GROUP {group} COMMIT EVERY 256 ROWS PARALLEL 4;

-- name: drop_cache_group
-- With its tables; those of Oracle Database stay.
DROP CACHE GROUP {group};

-- name: start_cache_agent
-- It loads and refreshes cache groups. That it already runs is no error.
BEGIN
    EXECUTE IMMEDIATE 'CALL ttCacheStart';
EXCEPTION
    WHEN OTHERS THEN
        IF LOWER(SQLERRM) NOT LIKE '%already running%' THEN
            RAISE;
        END IF;
END;
/

-- name: stop_replication_agent
-- It must not run while a group with asynchronous write-through is created or dropped. That it does not run is no error.
BEGIN
    EXECUTE IMMEDIATE 'CALL ttRepStop';
EXCEPTION
    WHEN OTHERS THEN
        IF LOWER(SQLERRM) NOT LIKE '%not running%' THEN
            RAISE;
        END IF;
END;
/

-- name: start_replication_agent
-- It sends committed changes to Oracle Database. That it already runs is no error.
BEGIN
    EXECUTE IMMEDIATE 'CALL ttRepStart';
EXCEPTION
    WHEN OTHERS THEN
        IF LOWER(SQLERRM) NOT LIKE '%already running%' THEN
            RAISE;
        END IF;
END;
/
