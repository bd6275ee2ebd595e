-- variant: partitions
-- With the schema option partitions: an index that begins with the column of the partitions is partitioned like its
-- table, so that loads and transactions of different warehouses meet in fewer blocks.

-- name: index_order_line_pk
ALTER TABLE order_line ADD CONSTRAINT order_line_pk PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
USING INDEX LOCAL {{index_options}};

-- name: index_orders_pk
ALTER TABLE orders ADD CONSTRAINT orders_pk PRIMARY KEY (o_w_id, o_d_id, o_id) USING INDEX LOCAL {{index_options}};

-- name: index_orders_by_customer
CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id) LOCAL {{index_options}};
