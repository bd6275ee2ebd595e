-- Queries on tables of user-defined workloads.

-- name: key_range
-- The lowest and the highest key of a table.
SELECT min({column}), max({column}) FROM {table};

-- name: count_rows
SELECT count(*) FROM {table};
