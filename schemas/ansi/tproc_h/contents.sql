-- The rows of a run of keys of each table, which are compared with those of the generator.

-- name: read_region
SELECT r_regionkey, r_name, r_comment
FROM region
WHERE r_regionkey BETWEEN :first_key AND :last_key;

-- name: read_nation
SELECT n_nationkey, n_name, n_regionkey, n_comment
FROM nation
WHERE n_nationkey BETWEEN :first_key AND :last_key;

-- name: read_supplier
SELECT s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment
FROM supplier
WHERE s_suppkey BETWEEN :first_key AND :last_key;

-- name: read_customer
SELECT c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment
FROM customer
WHERE c_custkey BETWEEN :first_key AND :last_key;

-- name: read_part
SELECT p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment
FROM part
WHERE p_partkey BETWEEN :first_key AND :last_key;

-- name: read_partsupp
SELECT ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment
FROM partsupp
WHERE ps_partkey BETWEEN :first_key AND :last_key;

-- name: read_orders
SELECT o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk,
       o_shippriority, o_comment
FROM orders
WHERE o_orderkey BETWEEN :first_key AND :last_key;

-- name: read_lineitem
SELECT l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax,
       l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode,
       l_comment
FROM lineitem
WHERE l_orderkey BETWEEN :first_key AND :last_key;
