-- variant: cache
-- With the schema option cache_groups: the tables that do not grow. Supplier and customer refer to the nation, of the two
-- tables to which partsupp refers a group takes one.

-- name: create_cache_group_region
CREATE {{cache_group(region_cache)}} FROM
region (
    r_regionkey  {{integer}}    NOT NULL,
    r_name       {{char(25)}}   NOT NULL,
    r_comment    {{text(152)}}  NOT NULL,
    PRIMARY KEY (r_regionkey){{cached}}
),
nation (
    n_nationkey  {{integer}}    NOT NULL,
    n_name       {{char(25)}}   NOT NULL,
    n_regionkey  {{integer}}    NOT NULL,
    n_comment    {{text(152)}}  NOT NULL,
    PRIMARY KEY (n_nationkey),
    FOREIGN KEY (n_regionkey) REFERENCES region (r_regionkey){{cached}}
),
supplier (
    s_suppkey    {{integer}}         NOT NULL,
    s_name       {{char(25)}}        NOT NULL,
    s_address    {{text(40)}}        NOT NULL,
    s_nationkey  {{integer}}         NOT NULL,
    s_phone      {{char(15)}}        NOT NULL,
    s_acctbal    {{decimal(15, 2)}}  NOT NULL,
    s_comment    {{text(101)}}       NOT NULL,
    PRIMARY KEY (s_suppkey),
    FOREIGN KEY (s_nationkey) REFERENCES nation (n_nationkey){{cached}}
),
customer (
    c_custkey     {{integer}}         NOT NULL,
    c_name        {{text(25)}}        NOT NULL,
    c_address     {{text(40)}}        NOT NULL,
    c_nationkey   {{integer}}         NOT NULL,
    c_phone       {{char(15)}}        NOT NULL,
    c_acctbal     {{decimal(15, 2)}}  NOT NULL,
    c_mktsegment  {{char(10)}}        NOT NULL,
    c_comment     {{text(117)}}       NOT NULL,
    PRIMARY KEY (c_custkey),
    FOREIGN KEY (c_nationkey) REFERENCES nation (n_nationkey){{cached}}
);

-- name: create_cache_group_part
CREATE {{cache_group(part_cache)}} FROM
part (
    p_partkey      {{integer}}         NOT NULL,
    p_name         {{text(55)}}        NOT NULL,
    p_mfgr         {{char(25)}}        NOT NULL,
    p_brand        {{char(10)}}        NOT NULL,
    p_type         {{text(25)}}        NOT NULL,
    p_size         {{integer}}         NOT NULL,
    p_container    {{char(10)}}        NOT NULL,
    p_retailprice  {{decimal(15, 2)}}  NOT NULL,
    p_comment      {{text(23)}}        NOT NULL,
    PRIMARY KEY (p_partkey){{cached}}
),
partsupp (
    ps_partkey     {{integer}}         NOT NULL,
    ps_suppkey     {{integer}}         NOT NULL,
    ps_availqty    {{integer}}         NOT NULL,
    ps_supplycost  {{decimal(15, 2)}}  NOT NULL,
    ps_comment     {{text(199)}}       NOT NULL,
    PRIMARY KEY (ps_partkey, ps_suppkey),
    FOREIGN KEY (ps_partkey) REFERENCES part (p_partkey){{cached}}
);

-- variant: cache_full
-- With the schema option cached_tables: full, also the tables that grow.

-- name: create_cache_group_orders
CREATE {{cache_group(orders_cache)}} FROM
orders (
    o_orderkey       {{bigint}}          NOT NULL,
    o_custkey        {{integer}}         NOT NULL,
    o_orderstatus    {{char(1)}}         NOT NULL,
    o_totalprice     {{decimal(15, 2)}}  NOT NULL,
    o_orderdate      {{date}}            NOT NULL,
    o_orderpriority  {{char(15)}}        NOT NULL,
    o_clerk          {{char(15)}}        NOT NULL,
    o_shippriority   {{integer}}         NOT NULL,
    o_comment        {{text(79)}}        NOT NULL,
    PRIMARY KEY (o_orderkey){{cached}}
),
lineitem (
    l_orderkey       {{bigint}}          NOT NULL,
    l_partkey        {{integer}}         NOT NULL,
    l_suppkey        {{integer}}         NOT NULL,
    l_linenumber     {{integer}}         NOT NULL,
    l_quantity       {{decimal(15, 2)}}  NOT NULL,
    l_extendedprice  {{decimal(15, 2)}}  NOT NULL,
    l_discount       {{decimal(15, 2)}}  NOT NULL,
    l_tax            {{decimal(15, 2)}}  NOT NULL,
    l_returnflag     {{char(1)}}         NOT NULL,
    l_linestatus     {{char(1)}}         NOT NULL,
    l_shipdate       {{date}}            NOT NULL,
    l_commitdate     {{date}}            NOT NULL,
    l_receiptdate    {{date}}            NOT NULL,
    l_shipinstruct   {{char(25)}}        NOT NULL,
    l_shipmode       {{char(10)}}        NOT NULL,
    l_comment        {{text(44)}}        NOT NULL,
    PRIMARY KEY (l_orderkey, l_linenumber),
    FOREIGN KEY (l_orderkey) REFERENCES orders (o_orderkey){{cached}}
);
