-- A workload's schema, which is the database that the target names.

-- name: claim_schema
-- 1 if this transaction is the only one that builds or drops the schema. A lock has the name of the database, since
-- Babelfish has one set of application locks for all.
DECLARE @claimed INT, @resource NVARCHAR(255)
SET @resource = CONCAT('hdbkit build ', DB_NAME())
EXEC @claimed = sp_getapplock @Resource = @resource, @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 0
SELECT CASE WHEN @claimed >= 0 THEN 1 ELSE 0 END;

-- name: list_tables
SELECT name FROM sys.tables WHERE schema_id = SCHEMA_ID() ORDER BY name;

-- name: list_indexes
SELECT i.name FROM sys.indexes AS i JOIN sys.tables AS t ON t.object_id = i.object_id
WHERE t.schema_id = SCHEMA_ID() AND i.name IS NOT NULL ORDER BY i.name;

-- name: list_routines
SELECT name FROM sys.procedures WHERE schema_id = SCHEMA_ID() ORDER BY name;

-- name: load_rows
-- Inserts the rows of a JSON array of arrays of texts, which become the types of the columns. {fields} are the columns of
-- the text, {values} how they are read. Outside a transaction each command would be committed by itself.
IF @@TRANCOUNT = 0
BEGIN
    RAISERROR('the transaction of a load has ended before the load', 16, 1)
    RETURN
END
INSERT INTO {table} ({columns})
SELECT {values} FROM OPENJSON(CAST(:rows AS NVARCHAR(MAX))) WITH ({fields});
