-- Queries of a session.

-- name: set_schema
-- With the option schema of a target: where names are looked for, and what is made belongs.
SET SCHEMA {schema};

-- name: set_isolation_read_committed
-- Cursor stability.
SET CURRENT ISOLATION = CS;

-- name: set_isolation_repeatable_read
-- Read stability: rows that were read stay as they are; others may appear.
SET CURRENT ISOLATION = RS;

-- name: set_isolation_serializable
-- What Db2 calls repeatable read.
SET CURRENT ISOLATION = RR;
