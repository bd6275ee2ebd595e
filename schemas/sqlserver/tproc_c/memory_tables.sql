-- variant: memory
-- The nine tables of TPC-C clause 1.3 in memory. Keys and indexes are part of them, with the names of those that are
-- otherwise created after the load. What is found by its whole key has a hash index, with {buckets_n} buckets for n rows
-- in a warehouse; what is read in order has another.

-- name: create_item
CREATE TABLE item (
    i_id     {{integer}}        NOT NULL,
    i_im_id  {{integer}}        NOT NULL,
    i_price  {{decimal(5, 2)}}  NOT NULL,
    i_name   {{text(24)}}       NOT NULL,
    i_data   {{text(50)}}       NOT NULL,
    CONSTRAINT item_pk PRIMARY KEY NONCLUSTERED HASH (i_id) WITH (BUCKET_COUNT = 131072)
) {{in_memory}};

-- name: create_warehouse
CREATE TABLE warehouse (
    w_id        {{integer}}         NOT NULL,
    w_ytd       {{decimal(16, 2)}}  NOT NULL,
    w_tax       {{decimal(4, 4)}}   NOT NULL,
    w_name      {{text(10)}}        NOT NULL,
    w_street_1  {{text(20)}}        NOT NULL,
    w_street_2  {{text(20)}}        NOT NULL,
    w_city      {{text(20)}}        NOT NULL,
    w_state     {{char(2)}}         NOT NULL,
    w_zip       {{char(9)}}         NOT NULL,
    CONSTRAINT warehouse_pk PRIMARY KEY NONCLUSTERED HASH (w_id) WITH (BUCKET_COUNT = {buckets_1})
) {{in_memory}};

-- name: create_district
CREATE TABLE district (
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
    CONSTRAINT district_pk PRIMARY KEY NONCLUSTERED HASH (d_w_id, d_id) WITH (BUCKET_COUNT = {buckets_10})
) {{in_memory}};

-- name: create_stock
CREATE TABLE stock (
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
    CONSTRAINT stock_pk PRIMARY KEY NONCLUSTERED HASH (s_w_id, s_i_id) WITH (BUCKET_COUNT = {buckets_100000})
) {{in_memory}};

-- name: create_customer
CREATE TABLE customer (
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
    CONSTRAINT customer_pk PRIMARY KEY NONCLUSTERED HASH (c_w_id, c_d_id, c_id) WITH (BUCKET_COUNT = {buckets_30000}),
    INDEX customer_by_name NONCLUSTERED (c_w_id, c_d_id, c_last, c_first, c_id)
) {{in_memory}};

-- name: create_history
-- A durable table needs a key.
CREATE TABLE history (
    h_id      BIGINT IDENTITY(1,1)  NOT NULL,
    h_c_id    {{integer}}        NOT NULL,
    h_c_d_id  {{smallint}}       NOT NULL,
    h_d_id    {{smallint}}       NOT NULL,
    h_c_w_id  {{integer}}        NOT NULL,
    h_w_id    {{integer}}        NOT NULL,
    h_date    {{timestamp}}      NOT NULL,
    h_amount  {{decimal(6, 2)}}  NOT NULL,
    h_data    {{text(24)}}       NOT NULL,
    CONSTRAINT history_pk PRIMARY KEY NONCLUSTERED (h_id)
) {{in_memory}};

-- name: create_orders
CREATE TABLE orders (
    o_w_id        {{integer}}    NOT NULL,
    o_id          {{integer}}    NOT NULL,
    o_c_id        {{integer}}    NOT NULL,
    o_d_id        {{smallint}}   NOT NULL,
    o_ol_cnt      {{smallint}}   NOT NULL,
    o_all_local   {{smallint}}   NOT NULL,
    o_carrier_id  {{smallint}},
    o_entry_d     {{timestamp}}  NOT NULL,
    CONSTRAINT orders_pk PRIMARY KEY NONCLUSTERED HASH (o_w_id, o_d_id, o_id) WITH (BUCKET_COUNT = {buckets_60000}),
    INDEX orders_by_customer NONCLUSTERED (o_w_id, o_d_id, o_c_id, o_id DESC)
) {{in_memory}};

-- name: create_new_order
CREATE TABLE new_order (
    no_w_id  {{integer}}   NOT NULL,
    no_o_id  {{integer}}   NOT NULL,
    no_d_id  {{smallint}}  NOT NULL,
    CONSTRAINT new_order_pk PRIMARY KEY NONCLUSTERED (no_w_id, no_d_id, no_o_id)
) {{in_memory}};

-- name: create_order_line
CREATE TABLE order_line (
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
    CONSTRAINT order_line_pk PRIMARY KEY NONCLUSTERED (ol_w_id, ol_d_id, ol_o_id, ol_number)
) {{in_memory}};
