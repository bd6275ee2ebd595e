-- With the schema option partitions. The ranges of orders and lines have the names order_keys in the database.

-- name: create_partitions
-- Ranges of the keys of orders, of equal width; {bounds_n} are the first keys of all but the first of them, where a scale of
-- 1 has n keys.
IF NOT EXISTS (SELECT 1 FROM sys.partition_functions WHERE name = 'order_keys')
    CREATE PARTITION FUNCTION order_keys (BIGINT) AS RANGE RIGHT FOR VALUES ({bounds_6000000});
IF NOT EXISTS (SELECT 1 FROM sys.partition_schemes WHERE name = 'order_keys')
    CREATE PARTITION SCHEME order_keys AS PARTITION order_keys ALL TO ([PRIMARY]);

-- name: drop_partitions
-- Unless there is a table that uses them.
IF OBJECT_ID('orders') IS NULL AND OBJECT_ID('lineitem') IS NULL
    AND EXISTS (SELECT 1 FROM sys.partition_schemes WHERE name = 'order_keys')
    DROP PARTITION SCHEME order_keys;
IF OBJECT_ID('orders') IS NULL AND OBJECT_ID('lineitem') IS NULL
    AND EXISTS (SELECT 1 FROM sys.partition_functions WHERE name = 'order_keys')
    DROP PARTITION FUNCTION order_keys;
