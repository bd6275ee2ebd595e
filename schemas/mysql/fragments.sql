-- fragment: long_text
MEDIUMTEXT

-- fragment: table_options
-- Text compares byte by byte, as on every other engine.
CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- fragment: typed(value, type)
-- Values are sent as literals, whose types are known.
{value}

-- fragment: concat(first, second)
CONCAT({first}, {second})

-- fragment: limit(rows)
LIMIT {rows}

-- fragment: hash_partitions(column)
PARTITION BY HASH ({column}) PARTITIONS {partitions}
