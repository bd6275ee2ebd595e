-- Statements prepared by name, for sources that understand this (try_prepare): those of a batch are then planned once.

-- name: prepare_statement
PREPARE {name} AS {statement};

-- name: execute_statement
-- The beginning; the values follow in parentheses.
EXECUTE {name};
