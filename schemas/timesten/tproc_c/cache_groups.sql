-- variant: cache
-- With the schema option cache_groups: the tables that do not grow. A group is a tree of tables: each but the root refers to
-- one other by a foreign key. The tables of Oracle Database have the same owner, names, columns and primary keys. The
-- group x_cache has the root x.

-- name: create_cache_group_item
CREATE {{cache_group(item_cache)}} FROM
item (
    i_id     {{integer}}        NOT NULL,
    i_im_id  {{integer}}        NOT NULL,
    i_price  {{decimal(5, 2)}}  NOT NULL,
    i_name   {{text(24)}}       NOT NULL,
    i_data   {{text(50)}}       NOT NULL,
    PRIMARY KEY (i_id){{cached}}
);

-- name: create_cache_group_warehouse
CREATE {{cache_group(warehouse_cache)}} FROM
warehouse (
    w_id        {{integer}}         NOT NULL,
    w_ytd       {{decimal(16, 2)}}  NOT NULL,
    w_tax       {{decimal(4, 4)}}   NOT NULL,
    w_name      {{text(10)}}        NOT NULL,
    w_street_1  {{text(20)}}        NOT NULL,
    w_street_2  {{text(20)}}        NOT NULL,
    w_city      {{text(20)}}        NOT NULL,
    w_state     {{char(2)}}         NOT NULL,
    w_zip       {{char(9)}}         NOT NULL,
    PRIMARY KEY (w_id){{cached}}
),
district (
    d_w_id       {{integer}}         NOT NULL,
    d_next_o_id  {{integer}}         NOT NULL,
    d_id         {{smallint}}        NOT NULL,
    d_ytd        {{decimal(16, 2)}}  NOT NULL,
    d_tax        {{decimal(4, 4)}}   NOT NULL,
    d_name       {{text(10)}}        NOT NULL,
    d_street_1   {{text(20)}}        NOT NULL,
    d_street_2   {{text(20)}}        NOT NULL,
    d_city       {{text(20)}}        NOT NULL,
    d_state      {{char(2)}}         NOT NULL,
    d_zip        {{char(9)}}         NOT NULL,
    PRIMARY KEY (d_w_id, d_id),
    FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id){{cached}}
),
customer (
    c_w_id          {{integer}}         NOT NULL,
    c_id            {{integer}}         NOT NULL,
    c_d_id          {{smallint}}        NOT NULL,
    c_payment_cnt   {{integer}}         NOT NULL,
    c_delivery_cnt  {{integer}}         NOT NULL,
    c_since         {{timestamp}}       NOT NULL,
    c_discount      {{decimal(4, 4)}}   NOT NULL,
    c_credit        {{char(2)}}         NOT NULL,
    c_last          {{text(16)}}        NOT NULL,
    c_first         {{text(16)}}        NOT NULL,
    c_balance       {{decimal(12, 2)}}  NOT NULL,
    c_ytd_payment   {{decimal(12, 2)}}  NOT NULL,
    c_credit_lim    {{decimal(12, 2)}}  NOT NULL,
    c_middle        {{char(2)}}         NOT NULL,
    c_street_1      {{text(20)}}        NOT NULL,
    c_street_2      {{text(20)}}        NOT NULL,
    c_city          {{text(20)}}        NOT NULL,
    c_state         {{char(2)}}         NOT NULL,
    c_zip           {{char(9)}}         NOT NULL,
    c_phone         {{char(16)}}        NOT NULL,
    c_data          {{text(500)}}       NOT NULL,
    PRIMARY KEY (c_w_id, c_d_id, c_id),
    FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id){{cached}}
),
stock (
    s_w_id        {{integer}}   NOT NULL,
    s_i_id        {{integer}}   NOT NULL,
    s_ytd         {{integer}}   NOT NULL,
    s_quantity    {{smallint}}  NOT NULL,
    s_order_cnt   {{integer}}   NOT NULL,
    s_remote_cnt  {{integer}}   NOT NULL,
    s_data        {{text(50)}}  NOT NULL,
    s_dist_01     {{char(24)}}  NOT NULL,
    s_dist_02     {{char(24)}}  NOT NULL,
    s_dist_03     {{char(24)}}  NOT NULL,
    s_dist_04     {{char(24)}}  NOT NULL,
    s_dist_05     {{char(24)}}  NOT NULL,
    s_dist_06     {{char(24)}}  NOT NULL,
    s_dist_07     {{char(24)}}  NOT NULL,
    s_dist_08     {{char(24)}}  NOT NULL,
    s_dist_09     {{char(24)}}  NOT NULL,
    s_dist_10     {{char(24)}}  NOT NULL,
    PRIMARY KEY (s_w_id, s_i_id),
    FOREIGN KEY (s_w_id) REFERENCES warehouse (w_id){{cached}}
);

-- variant: cache_full
-- With the schema option cached_tables: full, also the tables that grow.

-- name: create_cache_group_orders
CREATE {{cache_group(orders_cache)}} FROM
orders (
    o_w_id        {{integer}}    NOT NULL,
    o_id          {{integer}}    NOT NULL,
    o_c_id        {{integer}}    NOT NULL,
    o_d_id        {{smallint}}   NOT NULL,
    o_ol_cnt      {{smallint}}   NOT NULL,
    o_all_local   {{smallint}}   NOT NULL,
    o_carrier_id  {{smallint}},
    o_entry_d     {{timestamp}}  NOT NULL,
    PRIMARY KEY (o_w_id, o_d_id, o_id){{cached}}
),
new_order (
    no_w_id  {{integer}}   NOT NULL,
    no_o_id  {{integer}}   NOT NULL,
    no_d_id  {{smallint}}  NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id),
    FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id){{cached}}
),
order_line (
    ol_w_id         {{integer}}        NOT NULL,
    ol_o_id         {{integer}}        NOT NULL,
    ol_i_id         {{integer}}        NOT NULL,
    ol_supply_w_id  {{integer}}        NOT NULL,
    ol_d_id         {{smallint}}       NOT NULL,
    ol_number       {{smallint}}       NOT NULL,
    ol_quantity     {{smallint}}       NOT NULL,
    ol_delivery_d   {{timestamp}},
    ol_amount       {{decimal(6, 2)}}  NOT NULL,
    ol_dist_info    {{char(24)}}       NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number),
    FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id){{cached}}
);

-- name: create_cache_group_history
-- In Oracle Database, h_id is made by the build option history_key.
CREATE {{cache_group(history_cache)}} FROM
history (
    h_c_id    {{integer}}        NOT NULL,
    h_c_d_id  {{smallint}}       NOT NULL,
    h_d_id    {{smallint}}       NOT NULL,
    h_c_w_id  {{integer}}        NOT NULL,
    h_w_id    {{integer}}        NOT NULL,
    h_date    {{timestamp}}      NOT NULL,
    h_amount  {{decimal(6, 2)}}  NOT NULL,
    h_data    {{text(24)}}       NOT NULL,
    h_id      {{bigint}}         NOT NULL,
    PRIMARY KEY (h_id){{cached}}
);

-- commands: number_cached_history
-- The sequence continues behind the rows that were loaded.
SELECT 'CREATE SEQUENCE history_ids START WITH ' || TO_CHAR(n)
FROM (SELECT COALESCE(MAX(h_id), 0) + 1 AS n FROM history) next_free
WHERE NOT EXISTS (SELECT 1 FROM sys.sequences WHERE RTRIM(name) = 'HISTORY_IDS' AND RTRIM(owner) = USER);
