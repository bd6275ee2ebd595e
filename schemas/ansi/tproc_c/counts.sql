-- Row counts of the tables, and the total number of orders.

-- name: count_warehouse
SELECT count(*) FROM warehouse;

-- name: count_district
SELECT count(*) FROM district;

-- name: count_customer
SELECT count(*) FROM customer;

-- name: count_history
SELECT count(*) FROM history;

-- name: count_orders
SELECT count(*) FROM orders;

-- name: count_new_order
SELECT count(*) FROM new_order;

-- name: count_order_line
SELECT count(*) FROM order_line;

-- name: count_stock
SELECT count(*) FROM stock;

-- name: count_item
SELECT count(*) FROM item;

-- name: last_order_ids
-- Orders of a district are numbered without a gap.
SELECT d_w_id, d_id, d_next_o_id - 1 FROM district;

-- name: count_new_orders
-- The running total of new orders, whose growth is the throughput.
SELECT {{typed(sum(d_next_o_id), {{bigint}})}} FROM district;
