-- Statistics for the optimizer, after the load.

-- name: analyze_warehouse
ANALYZE TABLE warehouse;

-- name: analyze_district
ANALYZE TABLE district;

-- name: analyze_customer
ANALYZE TABLE customer;

-- name: analyze_history
ANALYZE TABLE history;

-- name: analyze_orders
ANALYZE TABLE orders;

-- name: analyze_new_order
ANALYZE TABLE new_order;

-- name: analyze_order_line
ANALYZE TABLE order_line;

-- name: analyze_stock
ANALYZE TABLE stock;

-- name: analyze_item
ANALYZE TABLE item;
