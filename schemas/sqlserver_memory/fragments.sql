-- With the schema option memory_optimized: tables in memory, whose indexes are part of the table. They take no UTF-8
-- collations.

-- fragment: collation
COLLATE Latin1_General_100_BIN2

-- fragment: in_memory
-- How a table is kept: SCHEMA_AND_DATA survives a restart of the server, SCHEMA_ONLY leaves empty tables.
WITH (MEMORY_OPTIMIZED = ON, DURABILITY = {memory_optimized})

-- fragment: native_procedure
-- How a natively compiled procedure begins; tables have two-part names there.
WITH NATIVE_COMPILATION, SCHEMABINDING
AS
BEGIN ATOMIC WITH (TRANSACTION ISOLATION LEVEL = SNAPSHOT, LANGUAGE = N'us_english')
