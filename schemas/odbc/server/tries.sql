-- Each statement gives one row with a 1 where the source understands the fragments in it.

-- name: try_from_nothing
SELECT 1 {{from_nothing}};

-- name: try_limit
SELECT {{top(1)}} n FROM (SELECT 1 AS n {{from_nothing}} UNION ALL SELECT 1 {{from_nothing}}) numbers {{limit(1)}};

-- name: try_now
SELECT CASE WHEN {{now}} IS NULL THEN 0 ELSE 1 END {{from_nothing}};

-- name: try_concat
SELECT CASE WHEN {{concat('a', {{concat('b', 'c')}})}} = 'abc' THEN 1 ELSE 0 END {{from_nothing}};

-- name: try_substring
SELECT CASE WHEN {{substring('abcd', 2, 2)}} = 'bc' THEN 1 ELSE 0 END {{from_nothing}};

-- name: try_typed
SELECT CASE WHEN {{typed(1, {{smallint}})}} = 1 AND {{typed(2, {{integer}})}} = 2 AND {{typed('a', {{text(100)}})}} = 'a'
                 AND {{typed(1.5, {{decimal(6, 2)}})}} = 1.5 THEN 1 ELSE 0 END {{from_nothing}};

-- name: try_exact
-- Where decimals are floating-point numbers, the difference is not 0.
SELECT CASE WHEN {{exact(0.1 + 0.2 - 0.3)}} = 0 THEN 1 ELSE 0 END {{from_nothing}};

-- name: try_dates
-- A cast to a type that the source does not have may give a number.
SELECT CASE WHEN {{date_value('1995-03-15')}} > {{date_literal('1995-03-14')}}
                 AND {{year({{date_literal('1995-03-15')}})}} = 1995 THEN 1 ELSE 0 END {{from_nothing}};

-- name: try_for_update
SELECT n FROM (SELECT 1 AS n {{from_nothing}}) numbers {{for_update}};

-- name: try_returning
-- In a table of the connection: some drivers take the statement and pass no rows on.
CREATE TEMPORARY TABLE IF NOT EXISTS hdbkit_try (n INTEGER);
INSERT INTO hdbkit_try (n) VALUES (0);
UPDATE hdbkit_try SET n = n + 1 WHERE n = 0 {{returning(n)}};

-- name: try_rows_of_values
-- Whether an INSERT takes several rows; some engines take them nowhere else, or name their columns.
SELECT count(*) - 1 FROM (VALUES (1), (2)) numbers;

-- name: try_named_rows_of_values
SELECT count(*) - 1 FROM (VALUES (1), (2)) numbers (n);

-- name: try_constructed_rows_of_values
SELECT count(*) - 1 FROM (VALUES ROW(1), ROW(2)) numbers;

-- name: try_value
-- Is sent twice at once, to try batches.
SELECT {{typed(:value, {{integer}})}} {{from_nothing}};

-- name: try_prepare
-- Whether statements are prepared by name in SQL.
PREPARE hdbkit_try AS SELECT {{typed($1, {{integer}})}} {{from_nothing}};
EXECUTE hdbkit_try (1);

-- name: try_snapshot_conflicts
-- Whether a change of a row that changed since the snapshot is an error where the product has such errors.
SELECT 1 {{from_nothing}};

-- name: read_now
-- Tells by its type how times are read.
SELECT {{now}} {{from_nothing}};

-- name: read_decimal
-- Tells by its type how decimals are read.
SELECT {{typed(1.5, {{decimal(6, 2)}})}} {{from_nothing}};

-- name: current_schema
-- The schema in which tables are created and found.
SELECT CURRENT_SCHEMA {{from_nothing}};
