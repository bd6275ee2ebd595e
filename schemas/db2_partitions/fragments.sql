-- With the schema option partitions.

-- fragment: hash_partitions(column)
-- By ranges of equal width; what comes after them is in one more.
PARTITION BY RANGE ({column}) (STARTING (1) ENDING ({scaled_6000000}) EVERY ({each_6000000}), ENDING (MAXVALUE))
