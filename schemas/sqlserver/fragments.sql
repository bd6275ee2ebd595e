-- What T-SQL writes differently (SQL Server 2019 or later). Text is compared by its bytes, as the specification's names
-- are, and may have any character: UTF-8 collations exist since 2019.

-- lexer: text, bracket, name, line_comment, nested_comment

-- fragment: collation
COLLATE Latin1_General_100_BIN2_UTF8

-- fragment: char(length)
CHAR({length}) {{collation}}

-- fragment: text(length)
VARCHAR({length}) {{collation}}

-- fragment: long_text
VARCHAR(MAX) {{collation}}

-- fragment: timestamp
DATETIME2(6)

-- fragment: now
CAST(SYSDATETIME() AS DATETIME2(6))

-- fragment: concat(first, second)
{first} + {second}

-- fragment: substring(text, start, length)
SUBSTRING({text}, {start}, {length})

-- fragment: top(rows)
TOP ({rows})

-- fragment: limit(rows)
-- It stands behind SELECT.

-- fragment: year(day)
YEAR({day})

-- fragment: for_update
-- A hint behind the table; the statements that lock rows replace this.

-- fragment: create_procedure
-- How a procedure is created, whether or not there is one.
CREATE OR ALTER PROCEDURE

-- fragment: changed(variable, column, value)
-- In the SET of an UPDATE: a new value of a column, which a variable gets too.
{variable} = {column} = {value}

-- fragment: loaded_field(column, index)
-- A column of rows in a JSON text.
{column} NVARCHAR(MAX) '$[{index}]'

-- fragment: loaded_value(column)
-- How it is read.
{column}

-- variant: partitions
-- With the schema option partitions.

-- fragment: hash_partitions(column)
-- Ranges of keys: an order and its lines are in the same one.
ON order_keys ({column})

-- variant: memory
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
