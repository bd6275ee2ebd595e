-- fragment: options_of_database
-- The options of this database: name, value, the choices of the value, kind, and what it is. Optimized locking is null before
-- SQL Server 2025, and comes after accelerated recovery, which it needs.
SELECT CONCAT('scoped.', name COLLATE DATABASE_DEFAULT) AS name,
       CASE WHEN name = 'MAXDOP' THEN CAST(value AS VARCHAR(100)) WHEN CAST(value AS INT) = 1 THEN 'ON' ELSE 'OFF' END AS value,
       CASE WHEN name <> 'MAXDOP' THEN 'ON,OFF' END AS choices,
       CASE name WHEN 'MAXDOP' THEN 'integer' ELSE 'enum' END AS kind, 'scoped configuration of the database' AS what
FROM sys.database_scoped_configurations
WHERE name IN ('MAXDOP', 'LEGACY_CARDINALITY_ESTIMATION', 'PARAMETER_SNIFFING', 'QUERY_OPTIMIZER_HOTFIXES',
               'BATCH_MODE_ON_ROWSTORE', 'OPTIMIZE_FOR_AD_HOC_WORKLOADS', 'TSQL_SCALAR_UDF_INLINING')
UNION ALL
SELECT CONCAT('database.', o.name), o.value, o.choices, o.kind, 'option of the database'
FROM sys.databases AS d
CROSS APPLY (VALUES
    ('READ_COMMITTED_SNAPSHOT', CASE d.is_read_committed_snapshot_on WHEN 1 THEN 'ON' ELSE 'OFF' END, 'ON,OFF', 'enum'),
    ('ALLOW_SNAPSHOT_ISOLATION', CASE d.snapshot_isolation_state WHEN 1 THEN 'ON' ELSE 'OFF' END, 'ON,OFF', 'enum'),
    ('ACCELERATED_DATABASE_RECOVERY', CASE d.is_accelerated_database_recovery_on WHEN 1 THEN 'ON' ELSE 'OFF' END, 'ON,OFF',
     'enum'),
    ('OPTIMIZED_LOCKING', CASE CAST(DATABASEPROPERTYEX(DB_NAME(), 'IsOptimizedLockingOn') AS INT)
                              WHEN 1 THEN 'ON' WHEN 0 THEN 'OFF' END, 'ON,OFF', 'enum'),
    ('DELAYED_DURABILITY', d.delayed_durability_desc COLLATE DATABASE_DEFAULT, 'DISABLED,ALLOWED,FORCED', 'enum'),
    ('RECOVERY', d.recovery_model_desc COLLATE DATABASE_DEFAULT, 'FULL,BULK_LOGGED,SIMPLE', 'enum'),
    ('PAGE_VERIFY', d.page_verify_option_desc COLLATE DATABASE_DEFAULT, 'CHECKSUM,TORN_PAGE_DETECTION,NONE', 'enum'),
    ('AUTO_UPDATE_STATISTICS', CASE d.is_auto_update_stats_on WHEN 1 THEN 'ON' ELSE 'OFF' END, 'ON,OFF', 'enum'),
    ('AUTO_CREATE_STATISTICS', CASE d.is_auto_create_stats_on WHEN 1 THEN 'ON' ELSE 'OFF' END, 'ON,OFF', 'enum'),
    ('PARAMETERIZATION', CASE d.is_parameterization_forced WHEN 1 THEN 'FORCED' ELSE 'SIMPLE' END, 'SIMPLE,FORCED',
     'enum'),
    ('COMPATIBILITY_LEVEL', CAST(d.compatibility_level AS VARCHAR(100)), NULL, 'integer'),
    ('TARGET_RECOVERY_TIME', CAST(d.target_recovery_time_in_seconds AS VARCHAR(100)), NULL, 'integer')
) AS o (name, value, choices, kind)
WHERE d.database_id = DB_ID() AND o.value IS NOT NULL
