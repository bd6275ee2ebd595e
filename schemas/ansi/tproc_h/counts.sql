-- Row counts of the tables, the sums of their decimals, and what holds between them.

-- name: count_region
SELECT count(*) FROM region;

-- name: count_nation
SELECT count(*) FROM nation;

-- name: count_supplier
SELECT count(*) FROM supplier;

-- name: count_customer
SELECT count(*) FROM customer;

-- name: count_part
SELECT count(*) FROM part;

-- name: count_partsupp
SELECT count(*) FROM partsupp;

-- name: count_orders
SELECT count(*) FROM orders;

-- name: count_lineitem
SELECT count(*) FROM lineitem;

-- name: sum_supplier
SELECT {{exact_sum(s_acctbal)}} FROM supplier;

-- name: sum_customer
SELECT {{exact_sum(c_acctbal)}} FROM customer;

-- name: sum_part
SELECT {{exact_sum(p_retailprice)}} FROM part;

-- name: sum_partsupp
SELECT {{exact_sum(ps_supplycost)}} FROM partsupp;

-- name: sum_orders
SELECT {{exact_sum(o_totalprice)}} FROM orders;

-- name: sum_lineitem
SELECT {{exact_sum(l_quantity)}}, {{exact_sum(l_extendedprice)}}, {{exact_sum(l_discount)}}, {{exact_sum(l_tax)}} FROM lineitem;

-- name: broken_orders
-- Orders with keys from :first_key to :last_key whose total is not the sum of their lines. The generator rounds each of
-- up to seven lines down twice.
SELECT count(*) FROM (
    SELECT order_key FROM (
        SELECT o_orderkey AS order_key, o_totalprice AS amount FROM orders
        WHERE o_orderkey BETWEEN :first_key AND :last_key
        UNION ALL
        SELECT l_orderkey AS order_key, -l_extendedprice * (1 - l_discount) * (1 + l_tax) AS amount
        FROM lineitem WHERE l_orderkey BETWEEN :first_key AND :last_key) amounts
    GROUP BY order_key HAVING sum(amount) > 0.005 OR sum(amount) < -0.15) broken;
