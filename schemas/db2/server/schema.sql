-- A schema is reserved by a lock on a table of its own, which exists while there is a schema, and is not listed.

-- name: create_claim
CREATE TABLE build_claim (id INTEGER);

-- name: claim_schema
-- The lock lasts until the transaction ends; a session without one waits for it, or the query fails.
LOCK TABLE build_claim IN EXCLUSIVE MODE;
SELECT 1 {{from_nothing}};

-- name: drop_claim
DROP TABLE build_claim;
