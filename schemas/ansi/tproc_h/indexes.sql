-- Keys and indexes, created after the load. The statement index_x creates the index x. Which of them a schema has is the
-- option indexes. Loaders take them in this order: the key of the largest table first, and its other indexes, which wait
-- for the key on most engines, when it is nearly complete on two loaders.

-- name: index_lineitem_pk
{{primary_key(lineitem, lineitem_pk, (l_orderkey, l_linenumber))}};

-- name: index_orders_pk
{{primary_key(orders, orders_pk, (o_orderkey))}};

-- name: index_partsupp_pk
{{primary_key(partsupp, partsupp_pk, (ps_partkey, ps_suppkey))}};

-- name: index_orders_by_customer
CREATE INDEX orders_by_customer ON orders (o_custkey) {{index_options}};

-- name: index_partsupp_by_supplier
CREATE INDEX partsupp_by_supplier ON partsupp (ps_suppkey) {{index_options}};

-- name: index_partsupp_by_part
-- HammerDB has this one and lineitem_by_order, which begin as a primary key does.
CREATE INDEX partsupp_by_part ON partsupp (ps_partkey) {{index_options}};

-- name: index_part_pk
{{primary_key(part, part_pk, (p_partkey))}};

-- name: index_customer_pk
{{primary_key(customer, customer_pk, (c_custkey))}};

-- name: index_customer_by_nation
CREATE INDEX customer_by_nation ON customer (c_nationkey) {{index_options}};

-- name: index_lineitem_by_part
CREATE INDEX lineitem_by_part ON lineitem (l_partkey, l_suppkey) {{index_options}};

-- name: index_lineitem_by_shipdate
CREATE INDEX lineitem_by_shipdate ON lineitem (l_shipdate) {{index_options}};

-- name: index_lineitem_by_order
CREATE INDEX lineitem_by_order ON lineitem (l_orderkey) {{index_options}};

-- name: index_supplier_pk
{{primary_key(supplier, supplier_pk, (s_suppkey))}};

-- name: index_supplier_by_nation
CREATE INDEX supplier_by_nation ON supplier (s_nationkey) {{index_options}};

-- name: index_nation_pk
{{primary_key(nation, nation_pk, (n_nationkey))}};

-- name: index_nation_by_region
CREATE INDEX nation_by_region ON nation (n_regionkey) {{index_options}};

-- name: index_region_pk
{{primary_key(region, region_pk, (r_regionkey))}};
