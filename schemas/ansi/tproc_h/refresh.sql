-- The refresh functions of TPC-H clauses 2.6 and 2.7. New rows come through the engine's bulk path.

-- name: delete_refreshed_orders
-- Deletes the orders of a run of keys.
DELETE FROM orders WHERE o_orderkey BETWEEN :first_key AND :last_key;

-- name: delete_refreshed_lines
-- Deletes the lines of a run of orders.
DELETE FROM lineitem WHERE l_orderkey BETWEEN :first_key AND :last_key;

-- name: count_refreshed_orders
SELECT count(*) FROM orders WHERE o_orderkey BETWEEN :first_key AND :last_key;

-- name: count_new_orders
-- Orders that refresh functions inserted: the generator uses the first 8 of each 32 keys.
SELECT count(*) FROM orders WHERE MOD(o_orderkey, 32) >= 8;
