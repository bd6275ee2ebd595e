-- Packages in the account's own schema. The catalog has names in upper case.

-- name: list_routines
-- The routine new_order is the package new_order_routine.
SELECT LOWER(SUBSTR(object_name, 1, LENGTH(object_name) - 8)) FROM user_objects
WHERE object_type = 'PACKAGE BODY' AND object_name LIKE '%\_ROUTINE' ESCAPE '\'
ORDER BY object_name;

-- name: compile_errors
-- What is wrong with what was compiled last, first error first.
SELECT name || ', line ' || line || ': ' || text FROM user_errors
WHERE attribute = 'ERROR' ORDER BY name, type, sequence;
