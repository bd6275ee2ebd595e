-- Where Babelfish for PostgreSQL lacks a form of SQL Server (tried on 4.4.0). The engine adds this folder to its
-- dialects when a probe of the server finds Babelfish.

-- fragment: collation
-- All its text is UTF-8.
COLLATE Latin1_General_BIN2

-- fragment: create_procedure
CREATE PROCEDURE

-- fragment: changed(variable, column, value)
-- It takes no double assignment beside others, and a variable gets the value after the change (on SQL Server, that before).
{column} = {value}, {variable} = {column}

-- fragment: loaded_value(column)
-- Its OPENJSON returns texts with the escapes of JSON.
CASE WHEN CHARINDEX('\', {column}) > 0
     THEN REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE({column}, '\\', CHAR(1)), '\"', '"'), '\t', CHAR(9)), '\n', CHAR(10)),
                          '\r', CHAR(13)), CHAR(1), '\')
     ELSE {column} END
