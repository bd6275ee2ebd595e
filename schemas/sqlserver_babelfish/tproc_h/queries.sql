-- name: q17
-- 2.4.17: the yearly revenue that small orders of a part bring. The cast is needed because it reports the quotient of a sum
-- with the one decimal of the divisor.
SELECT CAST(sum(l_extendedprice) / 7.0 AS NUMERIC(15,2)) AS avg_yearly
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE p_brand = :brand AND p_container = :container
  AND l_quantity < (SELECT 0.2 * avg(a.l_quantity) FROM lineitem a WHERE a.l_partkey = p_partkey);
