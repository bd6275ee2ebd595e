-- The statements of a transfer, in order; then the tables, the count of transfers, and the check.

-- name: update_accounts
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;

-- name: select_balance
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;

-- name: update_tellers
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;

-- name: update_branches
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;

-- name: insert_history
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);

-- name: create_pgbench_branches
CREATE TABLE pgbench_branches (bid INT NOT NULL PRIMARY KEY, bbalance INT, filler CHAR(88));

-- name: create_pgbench_tellers
CREATE TABLE pgbench_tellers (tid INT NOT NULL PRIMARY KEY, bid INT, tbalance INT, filler CHAR(84));

-- name: create_pgbench_accounts
CREATE TABLE pgbench_accounts (aid INT NOT NULL PRIMARY KEY, bid INT, abalance INT, filler CHAR(84));

-- name: create_pgbench_history
CREATE TABLE pgbench_history (tid INT, bid INT, aid INT, delta INT, mtime TIMESTAMP, filler CHAR(22));

-- name: count_history
SELECT count(*) FROM pgbench_history;

-- name: check_balances
-- accounts, tellers and branches add up to the same sum as the history
SELECT CASE WHEN a = h AND t = h AND b = h THEN 0 ELSE 1 END FROM
    (SELECT sum(abalance) AS a FROM pgbench_accounts) accounts,
    (SELECT sum(tbalance) AS t FROM pgbench_tellers) tellers,
    (SELECT sum(bbalance) AS b FROM pgbench_branches) branches,
    (SELECT coalesce(sum(delta), 0) AS h FROM pgbench_history) history;
