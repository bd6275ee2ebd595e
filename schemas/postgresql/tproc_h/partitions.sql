-- The partitions are tables of their own.

-- name: create_orders_partition
CREATE TABLE orders_{number} PARTITION OF orders FOR VALUES WITH (MODULUS {partitions}, REMAINDER {number});

-- name: create_lineitem_partition
CREATE TABLE lineitem_{number} PARTITION OF lineitem FOR VALUES WITH (MODULUS {partitions}, REMAINDER {number});
