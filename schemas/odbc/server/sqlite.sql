-- variant: sqlite
-- Transactions that take the only write lock at their beginning, so that none fails for what another one changed.

-- name: begin_transaction
BEGIN IMMEDIATE;

-- name: commit_transaction
COMMIT;

-- name: roll_back_transaction
ROLLBACK;
