-- What Db2 writes differently. The folders db2_luw and db2_derby have what only Db2, and only Apache Derby, writes so.

-- lexer: text, name, line_comment, nested_comment

-- fragment: now
CURRENT TIMESTAMP

-- fragment: from_nothing
FROM SYSIBM.SYSDUMMY1

-- fragment: year(day)
YEAR({day})

-- fragment: dividend(amount)
-- A sum of decimals has 31 digits, and its quotient no more decimals than the divisor lacks: none for a ratio of two sums.
CAST({amount} AS DOUBLE)

-- variant: partitions
-- With the schema option partitions.

-- fragment: hash_partitions(column)
-- By ranges of equal width; what comes after them is in one more.
PARTITION BY RANGE ({column}) (STARTING (1) ENDING ({scaled_6000000}) EVERY ({each_6000000}), ENDING (MAXVALUE))

-- variant: tablespace
-- With the schema options tablespace or table_tablespaces.

-- fragment: table_options
IN {tablespace}

-- variant: index_tablespace
-- With the schema option index_tablespace, too. The indexes of a partitioned table are in those of its partitions.

-- fragment: table_options
IN {tablespace} INDEX IN {index_tablespace}
