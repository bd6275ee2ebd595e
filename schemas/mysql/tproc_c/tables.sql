-- Tables with their primary keys: InnoDB stores rows in key order, and the population is loaded in that order.
-- Text compares byte by byte, as on every other engine. Counters are wider than TPC-C 1.3 requires: the hottest
-- item of a warehouse is ordered 32,767 times within 17 minutes at 100,000 NOPM.

-- name: create_warehouse
CREATE TABLE warehouse (
    w_id        INTEGER        NOT NULL PRIMARY KEY,
    w_ytd       NUMERIC(16,2)  NOT NULL,
    w_tax       NUMERIC(4,4)   NOT NULL,
    w_name      VARCHAR(10)    NOT NULL,
    w_street_1  VARCHAR(20)    NOT NULL,
    w_street_2  VARCHAR(20)    NOT NULL,
    w_city      VARCHAR(20)    NOT NULL,
    w_state     CHAR(2)        NOT NULL,
    w_zip       CHAR(9)        NOT NULL
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: create_district
CREATE TABLE district (
    d_w_id       INTEGER        NOT NULL,
    d_id         SMALLINT       NOT NULL,
    d_next_o_id  INTEGER        NOT NULL,
    d_ytd        NUMERIC(16,2)  NOT NULL,
    d_tax        NUMERIC(4,4)   NOT NULL,
    d_name       VARCHAR(10)    NOT NULL,
    d_street_1   VARCHAR(20)    NOT NULL,
    d_street_2   VARCHAR(20)    NOT NULL,
    d_city       VARCHAR(20)    NOT NULL,
    d_state      CHAR(2)        NOT NULL,
    d_zip        CHAR(9)        NOT NULL,
    PRIMARY KEY (d_w_id, d_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: create_customer
CREATE TABLE customer (
    c_w_id          INTEGER        NOT NULL,
    c_d_id          SMALLINT       NOT NULL,
    c_id            INTEGER        NOT NULL,
    c_payment_cnt   INTEGER        NOT NULL,
    c_delivery_cnt  INTEGER        NOT NULL,
    c_since         DATETIME       NOT NULL,
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
    c_data          VARCHAR(500)   NOT NULL,
    PRIMARY KEY (c_w_id, c_d_id, c_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: create_history
CREATE TABLE history (
    {{history_columns}}
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: create_history_partitioned
CREATE TABLE history (
    {{history_columns}}
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
PARTITION BY HASH (h_w_id) PARTITIONS {partitions};

-- name: create_history_keyed
-- With a key that no statement uses, for servers that refuse tables without one; it includes the partitioning column.
CREATE TABLE history (
    h_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE,
    {{history_columns}},
    PRIMARY KEY (h_id, h_w_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: create_history_partitioned_keyed
CREATE TABLE history (
    h_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE,
    {{history_columns}},
    PRIMARY KEY (h_id, h_w_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
PARTITION BY HASH (h_w_id) PARTITIONS {partitions};

-- name: key_history
-- A key that no statement uses; it includes the partitioning column.
ALTER TABLE history
    ADD COLUMN h_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE FIRST,
    ADD PRIMARY KEY (h_id, h_w_id);

-- name: create_orders
CREATE TABLE orders (
    o_w_id        INTEGER    NOT NULL,
    o_d_id        SMALLINT   NOT NULL,
    o_id          INTEGER    NOT NULL,
    o_c_id        INTEGER    NOT NULL,
    o_ol_cnt      SMALLINT   NOT NULL,
    o_all_local   SMALLINT   NOT NULL,
    o_carrier_id  SMALLINT,
    o_entry_d     DATETIME   NOT NULL,
    PRIMARY KEY (o_w_id, o_d_id, o_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: create_new_order
CREATE TABLE new_order (
    no_w_id  INTEGER   NOT NULL,
    no_d_id  SMALLINT  NOT NULL,
    no_o_id  INTEGER   NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: create_order_line
CREATE TABLE order_line (
    ol_w_id         INTEGER       NOT NULL,
    ol_d_id         SMALLINT      NOT NULL,
    ol_o_id         INTEGER       NOT NULL,
    ol_number       SMALLINT      NOT NULL,
    ol_i_id         INTEGER       NOT NULL,
    ol_supply_w_id  INTEGER       NOT NULL,
    ol_quantity     SMALLINT      NOT NULL,
    ol_delivery_d   DATETIME,
    ol_amount       NUMERIC(6,2)  NOT NULL,
    ol_dist_info    CHAR(24)      NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: create_order_line_partitioned
CREATE TABLE order_line (
    ol_w_id         INTEGER       NOT NULL,
    ol_d_id         SMALLINT      NOT NULL,
    ol_o_id         INTEGER       NOT NULL,
    ol_number       SMALLINT      NOT NULL,
    ol_i_id         INTEGER       NOT NULL,
    ol_supply_w_id  INTEGER       NOT NULL,
    ol_quantity     SMALLINT      NOT NULL,
    ol_delivery_d   DATETIME,
    ol_amount       NUMERIC(6,2)  NOT NULL,
    ol_dist_info    CHAR(24)      NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
PARTITION BY HASH (ol_w_id) PARTITIONS {partitions};

-- name: create_item
CREATE TABLE item (
    i_id     INTEGER       NOT NULL PRIMARY KEY,
    i_im_id  INTEGER       NOT NULL,
    i_price  NUMERIC(5,2)  NOT NULL,
    i_name   VARCHAR(24)   NOT NULL,
    i_data   VARCHAR(50)   NOT NULL
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

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
    s_dist_10     CHAR(24)     NOT NULL,
    PRIMARY KEY (s_w_id, s_i_id)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: count_new_orders
-- The running total of new orders, whose growth is the throughput.
SELECT CAST(SUM(d_next_o_id) AS SIGNED) FROM district;
