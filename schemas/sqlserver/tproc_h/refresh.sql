-- What T-SQL writes differently in the refresh functions.

-- name: count_new_orders
-- Orders that refresh functions inserted: the generator uses the first 8 of each 32 keys.
SELECT COUNT(*) FROM orders WHERE o_orderkey % 32 >= 8;
