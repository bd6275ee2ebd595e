-- Statistics for the optimizer; Babelfish has no such statement.

-- name: analyze
UPDATE STATISTICS {table};

-- name: update_statistics
UPDATE STATISTICS {table};
