-- An imitation of the tables that HammerDB builds: numeric keys, and dates with times, in the schema public.
CREATE TABLE public.region AS SELECT
    r_regionkey::numeric AS r_regionkey, r_name, r_comment
FROM tproc_h.region;
ALTER TABLE public.region ADD PRIMARY KEY (r_regionkey);
CREATE TABLE public.nation AS SELECT
    n_nationkey::numeric AS n_nationkey, n_name, n_regionkey::numeric AS n_regionkey, n_comment
FROM tproc_h.nation;
ALTER TABLE public.nation ADD PRIMARY KEY (n_nationkey);
CREATE TABLE public.supplier AS SELECT
    s_suppkey::numeric AS s_suppkey, s_name, s_address, s_nationkey::numeric AS s_nationkey, s_phone,
    s_acctbal, s_comment
FROM tproc_h.supplier;
ALTER TABLE public.supplier ADD PRIMARY KEY (s_suppkey);
CREATE TABLE public.customer AS SELECT
    c_custkey::numeric AS c_custkey, c_name, c_address, c_nationkey::numeric AS c_nationkey, c_phone,
    c_acctbal, c_mktsegment, c_comment
FROM tproc_h.customer;
ALTER TABLE public.customer ADD PRIMARY KEY (c_custkey);
CREATE TABLE public.part AS SELECT
    p_partkey::numeric AS p_partkey, p_name, p_mfgr, p_brand, p_type, p_size::numeric AS p_size, p_container,
    p_retailprice, p_comment
FROM tproc_h.part;
ALTER TABLE public.part ADD PRIMARY KEY (p_partkey);
CREATE TABLE public.partsupp AS SELECT
    ps_partkey::numeric AS ps_partkey, ps_suppkey::numeric AS ps_suppkey, ps_availqty::numeric AS ps_availqty,
    ps_supplycost, ps_comment
FROM tproc_h.partsupp;
ALTER TABLE public.partsupp ADD PRIMARY KEY (ps_partkey, ps_suppkey);
CREATE TABLE public.orders AS SELECT
    o_orderkey::numeric AS o_orderkey, o_custkey::numeric AS o_custkey, o_orderstatus, o_totalprice,
    o_orderdate::timestamp AS o_orderdate, o_orderpriority, o_clerk,
    o_shippriority::numeric AS o_shippriority, o_comment
FROM tproc_h.orders;
ALTER TABLE public.orders ADD PRIMARY KEY (o_orderkey);
CREATE TABLE public.lineitem AS SELECT
    l_orderkey::numeric AS l_orderkey, l_partkey::numeric AS l_partkey, l_suppkey::numeric AS l_suppkey,
    l_linenumber::numeric AS l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag,
    l_linestatus, l_shipdate::timestamp AS l_shipdate, l_commitdate::timestamp AS l_commitdate,
    l_receiptdate::timestamp AS l_receiptdate, l_shipinstruct, l_shipmode, l_comment
FROM tproc_h.lineitem;
ALTER TABLE public.lineitem ADD PRIMARY KEY (l_linenumber, l_orderkey);
