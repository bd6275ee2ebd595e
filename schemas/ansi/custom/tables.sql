-- What a user-defined workload asks about tables.

-- name: key_range
-- The lowest and the highest key of a table.
SELECT min({column}), max({column}) FROM {table};

-- name: count_rows
SELECT count(*) FROM {table};
