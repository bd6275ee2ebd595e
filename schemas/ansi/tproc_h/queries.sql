-- The 22 queries of TPC-H clause 2.4. Dates that a query derives from a parameter are computed by the client, so that
-- no engine needs intervals. Limits are those of the specification.

-- name: q01
-- 2.4.1: what was billed, shipped and returned.
SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
       sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
       sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
       avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc,
       count(*) AS count_order
FROM lineitem
WHERE l_shipdate <= {{date_value(:last_shipdate)}}
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus;

-- name: q02
-- 2.4.2: the supplier of a region who sells a part at the lowest cost.
SELECT {{top(100)}} s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
FROM part
JOIN partsupp ON ps_partkey = p_partkey
JOIN supplier ON s_suppkey = ps_suppkey
JOIN nation ON n_nationkey = s_nationkey
JOIN region ON r_regionkey = n_regionkey
WHERE p_size = :size AND p_type LIKE :type AND r_name = :region
  AND ps_supplycost = (
      SELECT min(o.ps_supplycost)
      FROM partsupp o
      JOIN supplier os ON os.s_suppkey = o.ps_suppkey
      JOIN nation oc ON oc.n_nationkey = os.s_nationkey
      JOIN region og ON og.r_regionkey = oc.n_regionkey
      WHERE o.ps_partkey = p_partkey AND og.r_name = :region)
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey {{limit(100)}};

-- name: q03
-- 2.4.3: the unshipped orders of the highest value.
SELECT {{top(10)}} l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
FROM customer
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
WHERE c_mktsegment = :segment AND o_orderdate < {{date_value(:day)}} AND l_shipdate > {{date_value(:day)}}
GROUP BY l_orderkey, o_orderdate, o_shippriority
ORDER BY revenue DESC, o_orderdate {{limit(10)}};

-- name: q04
-- 2.4.4: orders of a quarter with a line that was received late, by priority.
SELECT o_orderpriority, count(*) AS order_count
FROM orders
WHERE o_orderdate >= {{date_value(:first_day)}} AND o_orderdate < {{date_value(:end_day)}}
  AND EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
GROUP BY o_orderpriority
ORDER BY o_orderpriority;

-- name: q05
-- 2.4.5: the revenue of local suppliers by nation.
SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM region
JOIN nation ON n_regionkey = r_regionkey
JOIN customer ON c_nationkey = n_nationkey
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = n_nationkey
WHERE r_name = :region AND o_orderdate >= {{date_value(:first_day)}} AND o_orderdate < {{date_value(:end_day)}}
GROUP BY n_name
ORDER BY revenue DESC;

-- name: q06
-- 2.4.6: the revenue that a change of discounts would bring.
SELECT sum(l_extendedprice * l_discount) AS revenue
FROM lineitem
WHERE l_shipdate >= {{date_value(:first_day)}} AND l_shipdate < {{date_value(:end_day)}}
  AND l_discount BETWEEN {{typed(:min_discount, {{decimal(15, 2)}})}} AND {{typed(:max_discount, {{decimal(15, 2)}})}}
  AND l_quantity < :quantity;

-- name: q07
-- 2.4.7: the trade between two nations by year.
SELECT supp_nation, cust_nation, l_year, sum(volume) AS revenue
FROM (
    SELECT sn.n_name AS supp_nation, cn.n_name AS cust_nation, {{year(l_shipdate)}} AS l_year,
           l_extendedprice * (1 - l_discount) AS volume
    FROM supplier
    JOIN lineitem ON l_suppkey = s_suppkey
    JOIN orders ON o_orderkey = l_orderkey
    JOIN customer ON c_custkey = o_custkey
    JOIN nation sn ON sn.n_nationkey = s_nationkey
    JOIN nation cn ON cn.n_nationkey = c_nationkey
    WHERE (sn.n_name = :nation1 AND cn.n_name = :nation2 OR sn.n_name = :nation2 AND cn.n_name = :nation1)
      AND l_shipdate BETWEEN {{date_literal('1995-01-01')}} AND {{date_literal('1996-12-31')}}) shipping
GROUP BY supp_nation, cust_nation, l_year
ORDER BY supp_nation, cust_nation, l_year;

-- name: q08
-- 2.4.8: a nation's share of the market of a region, by year.
SELECT o_year,
       {{dividend(sum(CASE WHEN supp_nation = :nation THEN volume ELSE 0 END))}} / sum(volume) AS mkt_share
FROM (
    SELECT {{year(o_orderdate)}} AS o_year, l_extendedprice * (1 - l_discount) AS volume, sn.n_name AS supp_nation
    FROM part
    JOIN lineitem ON l_partkey = p_partkey
    JOIN supplier ON s_suppkey = l_suppkey
    JOIN orders ON o_orderkey = l_orderkey
    JOIN customer ON c_custkey = o_custkey
    JOIN nation cn ON cn.n_nationkey = c_nationkey
    JOIN region ON r_regionkey = cn.n_regionkey
    JOIN nation sn ON sn.n_nationkey = s_nationkey
    WHERE r_name = :region AND p_type = :type
      AND o_orderdate BETWEEN {{date_literal('1995-01-01')}} AND {{date_literal('1996-12-31')}}) all_nations
GROUP BY o_year
ORDER BY o_year;

-- name: q09
-- 2.4.9: the profit on a line of parts by nation and year.
SELECT supp_nation, o_year, sum(amount) AS sum_profit
FROM (
    SELECT n_name AS supp_nation, {{year(o_orderdate)}} AS o_year,
           l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
    FROM part
    JOIN lineitem ON l_partkey = p_partkey
    JOIN supplier ON s_suppkey = l_suppkey
    JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey
    JOIN orders ON o_orderkey = l_orderkey
    JOIN nation ON n_nationkey = s_nationkey
    WHERE p_name LIKE :color) profit
GROUP BY supp_nation, o_year
ORDER BY supp_nation, o_year DESC;

-- name: q10
-- 2.4.10: the customers who returned most in a quarter.
SELECT {{top(20)}} c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name,
       c_address, c_phone, c_comment
FROM customer
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
JOIN nation ON n_nationkey = c_nationkey
WHERE o_orderdate >= {{date_value(:first_day)}} AND o_orderdate < {{date_value(:end_day)}} AND l_returnflag = 'R'
GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
ORDER BY revenue DESC {{limit(20)}};

-- name: q11
-- 2.4.11: the parts that are most of a nation's stock.
SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS stock_value
FROM partsupp
JOIN supplier ON s_suppkey = ps_suppkey
JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = :nation
GROUP BY ps_partkey
HAVING sum(ps_supplycost * ps_availqty) > (
    SELECT sum(ps_supplycost * ps_availqty) * {{typed(:fraction, {{decimal(15, 10)}})}}
    FROM partsupp
    JOIN supplier ON s_suppkey = ps_suppkey
    JOIN nation ON n_nationkey = s_nationkey
    WHERE n_name = :nation)
ORDER BY stock_value DESC;

-- name: q12
-- 2.4.12: late lines of two ship modes, by the priority of their orders.
SELECT l_shipmode,
       sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high_line_count,
       sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 0 ELSE 1 END) AS low_line_count
FROM orders
JOIN lineitem ON l_orderkey = o_orderkey
WHERE l_shipmode IN (:mode1, :mode2) AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
  AND l_receiptdate >= {{date_value(:first_day)}} AND l_receiptdate < {{date_value(:end_day)}}
GROUP BY l_shipmode
ORDER BY l_shipmode;

-- name: q13
-- 2.4.13: customers by their number of orders.
SELECT c_count, count(*) AS custdist
FROM (
    SELECT c_custkey, count(o_orderkey) AS c_count
    FROM customer
    LEFT JOIN orders ON o_custkey = c_custkey AND o_comment NOT LIKE :words
    GROUP BY c_custkey) c_orders
GROUP BY c_count
ORDER BY custdist DESC, c_count DESC;

-- name: q14
-- 2.4.14: the share of the revenue of a month that promotions brought.
SELECT {{dividend(100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END))}}
       / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE l_shipdate >= {{date_value(:first_day)}} AND l_shipdate < {{date_value(:end_day)}};

-- name: q15
-- 2.4.15: the supplier of the highest revenue in a quarter.
WITH revenue AS (
    SELECT l_suppkey AS supplier_no, sum(l_extendedprice * (1 - l_discount)) AS total_revenue
    FROM lineitem
    WHERE l_shipdate >= {{date_value(:first_day)}} AND l_shipdate < {{date_value(:end_day)}}
    GROUP BY l_suppkey)
SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
FROM supplier
JOIN revenue ON supplier_no = s_suppkey
WHERE total_revenue = (SELECT max(total_revenue) FROM revenue)
ORDER BY s_suppkey;

-- name: q16
-- 2.4.16: the number of suppliers of parts of given sizes, without those with complaints.
SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt
FROM partsupp
JOIN part ON p_partkey = ps_partkey
WHERE p_brand <> :brand AND p_type NOT LIKE :type
  AND p_size IN (:size1, :size2, :size3, :size4, :size5, :size6, :size7, :size8)
  AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
GROUP BY p_brand, p_type, p_size
ORDER BY supplier_cnt DESC, p_brand, p_type, p_size;

-- name: q17
-- 2.4.17: the yearly revenue that small orders of a part bring.
SELECT {{dividend(sum(l_extendedprice))}} / 7.0 AS avg_yearly
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE p_brand = :brand AND p_container = :container
  AND l_quantity < (SELECT 0.2 * avg(a.l_quantity) FROM lineitem a WHERE a.l_partkey = p_partkey);

-- name: q18
-- 2.4.18: the customers of large orders.
SELECT {{top(100)}} c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity
FROM customer
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > :quantity)
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
ORDER BY o_totalprice DESC, o_orderdate {{limit(100)}};

-- name: q19
-- 2.4.19: the revenue of parts that are delivered by hand, by three kinds of brand, container and quantity.
SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'
  AND (p_brand = :brand1 AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
       AND l_quantity BETWEEN :quantity1 AND :quantity1 + 10 AND p_size BETWEEN 1 AND 5
       OR p_brand = :brand2 AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
       AND l_quantity BETWEEN :quantity2 AND :quantity2 + 10 AND p_size BETWEEN 1 AND 10
       OR p_brand = :brand3 AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
       AND l_quantity BETWEEN :quantity3 AND :quantity3 + 10 AND p_size BETWEEN 1 AND 15);

-- name: q20
-- 2.4.20: the suppliers of a nation with an excess of a line of parts.
SELECT s_name, s_address
FROM supplier
JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = :nation
  AND s_suppkey IN (
      SELECT ps_suppkey
      FROM partsupp
      WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE :color)
        AND ps_availqty > (
            SELECT 0.5 * sum(l_quantity)
            FROM lineitem
            WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
              AND l_shipdate >= {{date_value(:first_day)}} AND l_shipdate < {{date_value(:end_day)}}))
ORDER BY s_name;

-- name: q21
-- 2.4.21: the suppliers of a nation who alone kept an order waiting.
SELECT {{top(100)}} s_name, count(*) AS numwait
FROM supplier
JOIN lineitem l ON l.l_suppkey = s_suppkey
JOIN orders ON o_orderkey = l.l_orderkey
JOIN nation ON n_nationkey = s_nationkey
WHERE o_orderstatus = 'F' AND l.l_receiptdate > l.l_commitdate AND n_name = :nation
  AND EXISTS (SELECT 1 FROM lineitem o WHERE o.l_orderkey = l.l_orderkey AND o.l_suppkey <> l.l_suppkey)
  AND NOT EXISTS (SELECT 1 FROM lineitem o
                  WHERE o.l_orderkey = l.l_orderkey AND o.l_suppkey <> l.l_suppkey
                    AND o.l_receiptdate > o.l_commitdate)
GROUP BY s_name
ORDER BY numwait DESC, s_name {{limit(100)}};

-- name: q22
-- 2.4.22: customers with a good balance who have ordered nothing, by country code.
SELECT country, count(*) AS numcust, sum(c_acctbal) AS totacctbal
FROM (
    SELECT {{substring(c_phone, 1, 2)}} AS country, c_acctbal
    FROM customer
    WHERE {{substring(c_phone, 1, 2)}} IN (:code1, :code2, :code3, :code4, :code5, :code6, :code7)
      AND c_acctbal > (SELECT avg(c_acctbal) FROM customer
                       WHERE c_acctbal > 0.00
                         AND {{substring(c_phone, 1, 2)}} IN (:code1, :code2, :code3, :code4, :code5, :code6, :code7))
      AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)) idle
GROUP BY country
ORDER BY country;
