-- Statistics for the optimizer; Babelfish has no such statement.

-- name: analyze
UPDATE STATISTICS {table};

-- name: update_statistics
UPDATE STATISTICS {table};

-- name: make_columnstore
-- With the schema option columnstore: the table is kept by columns; its keys are then indexes beside that.
CREATE CLUSTERED COLUMNSTORE INDEX {table}_columns ON {table};

-- name: memory_filegroup
-- What memory-optimized tables need of the database: whether it has a filegroup for them (Azure SQL Database has none, and
-- needs none), and the schema of the account, which natively compiled procedures name.
SELECT CASE WHEN EXISTS (SELECT 1 FROM sys.filegroups WHERE type = 'FX')
              OR CAST(SERVERPROPERTY('EngineEdition') AS INT) = 5 THEN 1 ELSE 0 END, SCHEMA_NAME(), DB_NAME();

-- commands: elevate_to_snapshot
-- A transaction under READ COMMITTED may then use memory-optimized tables.
SELECT 'ALTER DATABASE CURRENT SET MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT = ON' FROM sys.databases
WHERE database_id = DB_ID() AND is_memory_optimized_elevate_to_snapshot_on = 0;
