-- Tables with updated rows have free space in their pages (fillfactor), so that an update stays in its page and
-- changes no index (heap-only tuple). Counters are wider than TPC-C 1.3 requires: the hottest item of a warehouse is
-- ordered 32,767 times within 17 minutes at 100,000 NOPM.

-- name: create_warehouse
CREATE TABLE warehouse (
    w_id        INTEGER        NOT NULL,
    w_ytd       NUMERIC(16,2)  NOT NULL,
    w_tax       NUMERIC(4,4)   NOT NULL,
    w_name      VARCHAR(10)    NOT NULL,
    w_street_1  VARCHAR(20)    NOT NULL,
    w_street_2  VARCHAR(20)    NOT NULL,
    w_city      VARCHAR(20)    NOT NULL,
    w_state     CHAR(2)        NOT NULL,
    w_zip       CHAR(9)        NOT NULL
) WITH (fillfactor = 10);

-- name: create_district
CREATE TABLE district (
    d_w_id       INTEGER        NOT NULL,
    d_next_o_id  INTEGER        NOT NULL,
    d_id         SMALLINT       NOT NULL,
    d_ytd        NUMERIC(16,2)  NOT NULL,
    d_tax        NUMERIC(4,4)   NOT NULL,
    d_name       VARCHAR(10)    NOT NULL,
    d_street_1   VARCHAR(20)    NOT NULL,
    d_street_2   VARCHAR(20)    NOT NULL,
    d_city       VARCHAR(20)    NOT NULL,
    d_state      CHAR(2)        NOT NULL,
    d_zip        CHAR(9)        NOT NULL
) WITH (fillfactor = 20);

-- name: create_customer
CREATE TABLE customer (
    c_w_id          INTEGER        NOT NULL,
    c_id            INTEGER        NOT NULL,
    c_d_id          SMALLINT       NOT NULL,
    c_payment_cnt   INTEGER        NOT NULL,
    c_delivery_cnt  INTEGER        NOT NULL,
    c_since         TIMESTAMP      NOT NULL,
    c_discount      NUMERIC(4,4)   NOT NULL,
    c_credit        CHAR(2)        NOT NULL,
    c_last          VARCHAR(16)    NOT NULL,
    c_first         VARCHAR(16)    NOT NULL,
    c_balance       NUMERIC(12,2)  NOT NULL,
    c_ytd_payment   NUMERIC(12,2)  NOT NULL,
    c_credit_lim    NUMERIC(12,2)  NOT NULL,
    c_middle        CHAR(2)        NOT NULL,
    c_street_1      VARCHAR(20)    NOT NULL,
    c_street_2      VARCHAR(20)    NOT NULL,
    c_city          VARCHAR(20)    NOT NULL,
    c_state         CHAR(2)        NOT NULL,
    c_zip           CHAR(9)        NOT NULL,
    c_phone         CHAR(16)       NOT NULL,
    c_data          VARCHAR(500)   NOT NULL
) WITH (fillfactor = 80);

-- name: create_orders
CREATE TABLE orders (
    o_w_id        INTEGER    NOT NULL,
    o_id          INTEGER    NOT NULL,
    o_c_id        INTEGER    NOT NULL,
    o_d_id        SMALLINT   NOT NULL,
    o_ol_cnt      SMALLINT   NOT NULL,
    o_all_local   SMALLINT   NOT NULL,
    o_carrier_id  SMALLINT,
    o_entry_d     TIMESTAMP  NOT NULL
) WITH (fillfactor = 85);

-- name: create_stock
CREATE TABLE stock (
    s_w_id        INTEGER      NOT NULL,
    s_i_id        INTEGER      NOT NULL,
    s_ytd         INTEGER      NOT NULL,
    s_quantity    SMALLINT     NOT NULL,
    s_order_cnt   INTEGER      NOT NULL,
    s_remote_cnt  INTEGER      NOT NULL,
    s_data        VARCHAR(50)  NOT NULL,
    s_dist_01     CHAR(24)     NOT NULL,
    s_dist_02     CHAR(24)     NOT NULL,
    s_dist_03     CHAR(24)     NOT NULL,
    s_dist_04     CHAR(24)     NOT NULL,
    s_dist_05     CHAR(24)     NOT NULL,
    s_dist_06     CHAR(24)     NOT NULL,
    s_dist_07     CHAR(24)     NOT NULL,
    s_dist_08     CHAR(24)     NOT NULL,
    s_dist_09     CHAR(24)     NOT NULL,
    s_dist_10     CHAR(24)     NOT NULL
) WITH (fillfactor = 80);

-- name: create_order_line
-- Orders are delivered in the order of their numbers, so the free space for the lines of one order suffices: it is
-- reused when the next order of the page is delivered.
CREATE TABLE order_line (
    ol_w_id         INTEGER       NOT NULL,
    ol_o_id         INTEGER       NOT NULL,
    ol_i_id         INTEGER       NOT NULL,
    ol_supply_w_id  INTEGER       NOT NULL,
    ol_d_id         SMALLINT      NOT NULL,
    ol_number       SMALLINT      NOT NULL,
    ol_quantity     SMALLINT      NOT NULL,
    ol_delivery_d   TIMESTAMP,
    ol_amount       NUMERIC(6,2)  NOT NULL,
    ol_dist_info    CHAR(24)      NOT NULL
) WITH (fillfactor = 80);

-- name: create_order_line_partitioned
CREATE TABLE order_line (
    ol_w_id         INTEGER       NOT NULL,
    ol_o_id         INTEGER       NOT NULL,
    ol_i_id         INTEGER       NOT NULL,
    ol_supply_w_id  INTEGER       NOT NULL,
    ol_d_id         SMALLINT      NOT NULL,
    ol_number       SMALLINT      NOT NULL,
    ol_quantity     SMALLINT      NOT NULL,
    ol_delivery_d   TIMESTAMP,
    ol_amount       NUMERIC(6,2)  NOT NULL,
    ol_dist_info    CHAR(24)      NOT NULL
) PARTITION BY HASH (ol_w_id);

-- name: create_order_line_partition
CREATE TABLE order_line_{number} PARTITION OF order_line
FOR VALUES WITH (MODULUS {partitions}, REMAINDER {number}) WITH (fillfactor = 80);

-- name: key_history
-- A key for a table that has none in TPC-C; no other statement uses it.
ALTER TABLE history ADD COLUMN h_id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT history_pk PRIMARY KEY;
