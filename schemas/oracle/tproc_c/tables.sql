-- Rows that every transaction changes have a block of their own (PCTFREE 99), so that transactions do not wait for a
-- slot in its header. Counters are wider than TPC-C 1.3 requires: the hottest item of a warehouse is ordered 32,767 times
-- within 17 minutes at 100,000 NOPM.

-- name: create_warehouse
CREATE TABLE warehouse (
    w_id        NUMBER(10)          NOT NULL,
    w_ytd       NUMBER(16,2)        NOT NULL,
    w_tax       NUMBER(4,4)         NOT NULL,
    w_name      VARCHAR2(10 CHAR)   NOT NULL,
    w_street_1  VARCHAR2(20 CHAR)   NOT NULL,
    w_street_2  VARCHAR2(20 CHAR)   NOT NULL,
    w_city      VARCHAR2(20 CHAR)   NOT NULL,
    w_state     VARCHAR2(2 CHAR)    NOT NULL,
    w_zip       VARCHAR2(9 CHAR)    NOT NULL
) PCTFREE 99 PCTUSED 1 INITRANS 4 {{table_options}};

-- name: create_district
CREATE TABLE district (
    d_w_id       NUMBER(10)          NOT NULL,
    d_next_o_id  NUMBER(10)          NOT NULL,
    d_id         NUMBER(5)           NOT NULL,
    d_ytd        NUMBER(16,2)        NOT NULL,
    d_tax        NUMBER(4,4)         NOT NULL,
    d_name       VARCHAR2(10 CHAR)   NOT NULL,
    d_street_1   VARCHAR2(20 CHAR)   NOT NULL,
    d_street_2   VARCHAR2(20 CHAR)   NOT NULL,
    d_city       VARCHAR2(20 CHAR)   NOT NULL,
    d_state      VARCHAR2(2 CHAR)    NOT NULL,
    d_zip        VARCHAR2(9 CHAR)    NOT NULL
) PCTFREE 99 PCTUSED 1 INITRANS 4 {{table_options}};

-- name: create_history_partitioned
CREATE TABLE history (
    h_c_id    NUMBER(10)          NOT NULL,
    h_c_d_id  NUMBER(5)           NOT NULL,
    h_d_id    NUMBER(5)           NOT NULL,
    h_c_w_id  NUMBER(10)          NOT NULL,
    h_w_id    NUMBER(10)          NOT NULL,
    h_date    DATE                NOT NULL,
    h_amount  NUMBER(6,2)         NOT NULL,
    h_data    VARCHAR2(24 CHAR)   NOT NULL
) INITRANS 4 {{table_options}} PARTITION BY HASH (h_w_id) PARTITIONS {partitions};

-- name: create_order_line_partitioned
CREATE TABLE order_line (
    ol_w_id         NUMBER(10)          NOT NULL,
    ol_o_id         NUMBER(10)          NOT NULL,
    ol_i_id         NUMBER(10)          NOT NULL,
    ol_supply_w_id  NUMBER(10)          NOT NULL,
    ol_d_id         NUMBER(5)           NOT NULL,
    ol_number       NUMBER(5)           NOT NULL,
    ol_quantity     NUMBER(5)           NOT NULL,
    ol_delivery_d   DATE,
    ol_amount       NUMBER(6,2)         NOT NULL,
    ol_dist_info    VARCHAR2(24 CHAR)   NOT NULL
) INITRANS 4 {{table_options}} PARTITION BY HASH (ol_w_id) PARTITIONS {partitions};

-- name: create_orders_partitioned
CREATE TABLE orders (
    o_w_id        NUMBER(10)  NOT NULL,
    o_id          NUMBER(10)  NOT NULL,
    o_c_id        NUMBER(10)  NOT NULL,
    o_d_id        NUMBER(5)   NOT NULL,
    o_ol_cnt      NUMBER(5)   NOT NULL,
    o_all_local   NUMBER(5)   NOT NULL,
    o_carrier_id  NUMBER(5),
    o_entry_d     DATE        NOT NULL
) INITRANS 4 {{table_options}} PARTITION BY HASH (o_w_id) PARTITIONS {partitions};

-- name: key_history
-- A key for a table that has none in TPC-C; no other statement uses it.
ALTER TABLE history ADD (h_id NUMBER(19) GENERATED ALWAYS AS IDENTITY CONSTRAINT history_pk PRIMARY KEY);
