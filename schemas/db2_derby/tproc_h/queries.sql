-- Apache Derby has no WITH.

-- name: q15
-- 2.4.15: the supplier of the highest revenue in a quarter.
SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
FROM supplier
JOIN (SELECT l_suppkey AS supplier_no, sum(l_extendedprice * (1 - l_discount)) AS total_revenue
      FROM lineitem
      WHERE l_shipdate >= {{date_value(:first_day)}} AND l_shipdate < {{date_value(:end_day)}}
      GROUP BY l_suppkey) revenue ON supplier_no = s_suppkey
WHERE total_revenue = (
    SELECT max(total) FROM (SELECT sum(l_extendedprice * (1 - l_discount)) AS total
                            FROM lineitem
                            WHERE l_shipdate >= {{date_value(:first_day)}} AND l_shipdate < {{date_value(:end_day)}}
                            GROUP BY l_suppkey) totals)
ORDER BY s_suppkey;
