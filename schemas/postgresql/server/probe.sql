-- What a server that speaks this protocol is and can do. Only what is tried in a table or routine of its own changes
-- anything, and only on a server that is another product, or lacks an answer.

-- name: product_version
SELECT version();

-- name: product_extensions
SELECT extname, extversion FROM pg_extension;

-- name: product_settings
-- Settings that only some products have.
SELECT name FROM pg_settings WHERE split_part(name, '.', 1) IN ('alloydb', 'apg', 'aurora', 'neon', 'rds', 'supautils');

-- name: probe_lock
-- Whether this transaction has the lock now.
SELECT pg_try_advisory_xact_lock(1752457836, hashtext(:name));

-- name: probe_create_table
CREATE TEMPORARY TABLE {name} (id integer NOT NULL PRIMARY KEY);

-- name: probe_create_routine
CREATE FUNCTION pg_temp.{name}() RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';

-- name: probe_call_routine
SELECT pg_temp.{name}();
