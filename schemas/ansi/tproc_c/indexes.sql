-- Keys and indexes, created after the load. The statement index_x creates the index x. Loaders take them in this order: the
-- longest first, and none beside another of its table, which may be locked.

-- name: index_order_line_pk
{{primary_key(order_line, order_line_pk, (ol_w_id, ol_d_id, ol_o_id, ol_number))}};

-- name: index_stock_pk
{{primary_key(stock, stock_pk, (s_w_id, s_i_id))}};

-- name: index_customer_pk
{{primary_key(customer, customer_pk, (c_w_id, c_d_id, c_id))}};

-- name: index_orders_pk
{{primary_key(orders, orders_pk, (o_w_id, o_d_id, o_id))}};

-- name: index_customer_by_name
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id) {{index_options}};

-- name: index_orders_by_customer
CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id) {{index_options}};

-- name: index_item_pk
{{primary_key(item, item_pk, (i_id))}};

-- name: index_new_order_pk
{{primary_key(new_order, new_order_pk, (no_w_id, no_d_id, no_o_id))}};

-- name: index_district_pk
{{primary_key(district, district_pk, (d_w_id, d_id))}};

-- name: index_warehouse_pk
{{primary_key(warehouse, warehouse_pk, (w_id))}};
