-- With the schema option partitions.

-- fragment: hash_partitions(column)
-- Ranges of keys: an order and its lines are in the same one.
ON order_keys ({column})
