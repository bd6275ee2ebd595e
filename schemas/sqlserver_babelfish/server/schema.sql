-- name: list_indexes
-- An index that is no key has a name that ends with its table and 32 hexadecimal digits.
SELECT CASE WHEN LEN(i.name) > LEN(t.name) + 32
             AND SUBSTRING(i.name, LEN(i.name) - 31 - LEN(t.name), LEN(t.name)) = t.name
            THEN LEFT(i.name, LEN(i.name) - 32 - LEN(t.name)) ELSE i.name END
FROM sys.indexes AS i JOIN sys.tables AS t ON t.object_id = i.object_id
WHERE t.schema_id = SCHEMA_ID() AND i.name IS NOT NULL ORDER BY i.name;
