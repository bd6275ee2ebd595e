-- Statistics for the optimizer; Babelfish has no such statement.

-- name: analyze
UPDATE STATISTICS {table};

-- name: update_statistics
UPDATE STATISTICS {table};

-- name: make_columnstore
-- With the schema option columnstore: the table is kept by columns; its keys are then indexes beside that.
CREATE CLUSTERED COLUMNSTORE INDEX {table}_columns ON {table};
