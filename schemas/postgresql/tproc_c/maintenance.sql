-- Statistics for the planner, and a visibility map, after the load.

-- name: analyze_warehouse
VACUUM (ANALYZE) warehouse;

-- name: analyze_district
VACUUM (ANALYZE) district;

-- name: analyze_customer
VACUUM (ANALYZE) customer;

-- name: analyze_history
VACUUM (ANALYZE) history;

-- name: analyze_orders
VACUUM (ANALYZE) orders;

-- name: analyze_new_order
VACUUM (ANALYZE) new_order;

-- name: analyze_order_line
VACUUM (ANALYZE) order_line;

-- name: analyze_stock
VACUUM (ANALYZE) stock;

-- name: analyze_item
VACUUM (ANALYZE) item;
