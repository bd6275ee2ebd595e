-- What Db2 writes differently. The folders db2_luw and db2_derby have what only Db2, and only Apache Derby, writes so.

-- fragment: now
CURRENT TIMESTAMP

-- fragment: from_nothing
FROM SYSIBM.SYSDUMMY1

-- fragment: year(day)
YEAR({day})
