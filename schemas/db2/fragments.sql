-- What Db2 writes differently. The folders db2_luw and db2_derby have what only Db2, and only Apache Derby, writes so.

-- fragment: now
CURRENT TIMESTAMP

-- fragment: from_nothing
FROM SYSIBM.SYSDUMMY1

-- fragment: year(day)
YEAR({day})

-- fragment: dividend(amount)
-- A sum of decimals has 31 digits, and its quotient no more decimals than the divisor lacks: none for a ratio of two sums.
CAST({amount} AS DOUBLE)
