-- A workload's schema is the account's own: it has the tables directly. The catalog has names in upper case.

-- name: list_tables
SELECT LOWER(table_name) FROM user_tables
WHERE nested = 'NO' AND secondary = 'N' AND dropped = 'NO' AND iot_name IS NULL
ORDER BY table_name;

-- name: list_indexes
SELECT LOWER(index_name) FROM user_indexes WHERE index_type <> 'LOB' AND status <> 'UNUSABLE' ORDER BY index_name;

-- name: drop_table
-- Without the recycle bin.
DROP TABLE {table} PURGE;

-- name: drop_build
DROP TABLE build_part PURGE;
DROP TABLE build_spec PURGE;

-- name: insert_row_directly
-- The same as insert_row by direct path: above the high-water mark, past the buffer cache.
INSERT /*+ APPEND_VALUES */ INTO {table} ({columns}) VALUES;

-- name: claim_schema
-- 1 if this session is the only one that builds or drops the schema, until it ends. An account that may not execute
-- DBMS_LOCK is not refused.
-- parameters:
-- returns: claimed(integer)
DECLARE
    status NUMBER;
BEGIN
    EXECUTE IMMEDIATE 'BEGIN :1 := DBMS_LOCK.REQUEST(:2, 6, 0, FALSE); END;'
    USING OUT status, IN DBMS_UTILITY.GET_HASH_VALUE('hdbkit ' || USER, 0, 1073741823);
    :claimed := CASE WHEN status IN (0, 4) THEN 1 ELSE 0 END;
EXCEPTION
    WHEN OTHERS THEN
        IF SQLCODE <> -6550 THEN
            RAISE;
        END IF;
        :claimed := 1;
END;
/

-- name: analyze
-- Statistics for the optimizer, after the load.
BEGIN
    DBMS_STATS.GATHER_TABLE_STATS(USER, UPPER(:table), degree => DBMS_STATS.DEFAULT_DEGREE);
END;
/

-- name: update_statistics
BEGIN
    DBMS_STATS.GATHER_TABLE_STATS(USER, UPPER(:table), degree => DBMS_STATS.DEFAULT_DEGREE);
END;
/

-- name: list_unanalyzed
-- Tables without statistics, or with stale ones, and why.
SELECT LOWER(table_name),
       CASE WHEN last_analyzed IS NULL THEN 'was never analyzed' ELSE 'has changed since it was analyzed' END
FROM user_tab_statistics
WHERE object_type = 'TABLE' AND (last_analyzed IS NULL OR stale_stats = 'YES')
ORDER BY table_name;

-- name: lacks_partitions
-- A row if this edition has no partitions, or no licence of the option is installed.
SELECT value FROM v$option WHERE parameter = 'Partitioning' AND value = 'FALSE';

-- name: list_clusters
-- Clusters without a table whose names are those that a build gives.
SELECT LOWER(cluster_name) FROM user_clusters
WHERE cluster_name LIKE '%\_CLUSTER' ESCAPE '\'
  AND cluster_name NOT IN (SELECT cluster_name FROM user_tables WHERE cluster_name IS NOT NULL)
ORDER BY cluster_name;

-- name: drop_cluster
DROP CLUSTER {cluster};
