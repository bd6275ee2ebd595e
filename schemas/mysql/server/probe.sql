-- What a server that speaks this protocol is and can do. Only what is tried in a table or routine of its own changes
-- anything, and only on a server that is another product, or lacks an answer.

-- name: product_version
SELECT CONCAT_WS(' ', VERSION(), @@version_comment);

-- name: product_variables
-- Variables that only some products have, by name and value.
SHOW VARIABLES WHERE Variable_name IN ('aurora_version', 'memsql_version', 'dolt_version', 'wsrep_on');

-- name: probe_lock
-- 1 if the session has the lock now, 0 if another has it.
SELECT GET_LOCK(:name, 0);

-- name: probe_create_table
CREATE TABLE {name} (id INT NOT NULL PRIMARY KEY);

-- name: probe_drop_table
DROP TABLE {name};

-- name: probe_create_routine
CREATE PROCEDURE {name}() BEGIN DECLARE one INT DEFAULT 1; SELECT one; END;

-- name: probe_call_routine
CALL {name}();

-- name: probe_drop_routine
DROP PROCEDURE {name};
