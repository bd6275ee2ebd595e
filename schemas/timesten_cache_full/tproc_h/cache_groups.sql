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
    PRIMARY KEY (o_orderkey)
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
    FOREIGN KEY (l_orderkey) REFERENCES orders (o_orderkey)
);
