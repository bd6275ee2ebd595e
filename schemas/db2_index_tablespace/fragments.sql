-- With the schema option index_tablespace, too. The indexes of a partitioned table are in those of its partitions.

-- fragment: table_options
IN {tablespace} INDEX IN {index_tablespace}
