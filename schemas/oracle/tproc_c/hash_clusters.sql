-- variant: hash_clusters
-- With the schema option hash_clusters: the tables that do not grow are each in a hash cluster of their own, so that a row
-- is found by its key without an index. The word scaled_N is N times the number of warehouses. Rows that every
-- transaction changes have a block of their own (SIZE), if a block has 8 KiB.

-- name: create_item
CREATE CLUSTER item_cluster (i_id NUMBER(10))
SIZE 120 {{table_options}} SINGLE TABLE HASHKEYS 100000 HASH IS i_id;
CREATE TABLE item (
    i_id     NUMBER(10)         NOT NULL,
    i_im_id  NUMBER(10)         NOT NULL,
    i_price  NUMBER(5,2)        NOT NULL,
    i_name   VARCHAR2(24 CHAR)  NOT NULL,
    i_data   VARCHAR2(50 CHAR)  NOT NULL
) CLUSTER item_cluster (i_id);

-- name: create_warehouse
CREATE CLUSTER warehouse_cluster (w_id NUMBER(10))
SIZE 7000 INITRANS 4 {{table_options}} SINGLE TABLE HASHKEYS {scaled_1} HASH IS w_id;
CREATE TABLE warehouse (
    w_id        NUMBER(10)         NOT NULL,
    w_ytd       NUMBER(16,2)       NOT NULL,
    w_tax       NUMBER(4,4)        NOT NULL,
    w_name      VARCHAR2(10 CHAR)  NOT NULL,
    w_street_1  VARCHAR2(20 CHAR)  NOT NULL,
    w_street_2  VARCHAR2(20 CHAR)  NOT NULL,
    w_city      VARCHAR2(20 CHAR)  NOT NULL,
    w_state     VARCHAR2(2 CHAR)   NOT NULL,
    w_zip       VARCHAR2(9 CHAR)   NOT NULL
) CLUSTER warehouse_cluster (w_id);

-- name: create_district
CREATE CLUSTER district_cluster (d_w_id NUMBER(10), d_id NUMBER(5))
SIZE 7000 INITRANS 4 {{table_options}} SINGLE TABLE HASHKEYS {scaled_10} HASH IS (d_w_id * 10 + d_id);
CREATE TABLE district (
    d_w_id       NUMBER(10)         NOT NULL,
    d_next_o_id  NUMBER(10)         NOT NULL,
    d_id         NUMBER(5)          NOT NULL,
    d_ytd        NUMBER(16,2)       NOT NULL,
    d_tax        NUMBER(4,4)        NOT NULL,
    d_name       VARCHAR2(10 CHAR)  NOT NULL,
    d_street_1   VARCHAR2(20 CHAR)  NOT NULL,
    d_street_2   VARCHAR2(20 CHAR)  NOT NULL,
    d_city       VARCHAR2(20 CHAR)  NOT NULL,
    d_state      VARCHAR2(2 CHAR)   NOT NULL,
    d_zip        VARCHAR2(9 CHAR)   NOT NULL
) CLUSTER district_cluster (d_w_id, d_id);

-- name: create_customer
CREATE CLUSTER customer_cluster (c_w_id NUMBER(10), c_d_id NUMBER(5), c_id NUMBER(10))
SIZE 850 INITRANS 3 {{table_options}} SINGLE TABLE HASHKEYS {scaled_30000}
HASH IS ((c_w_id * 10 + c_d_id) * 3000 + c_id);
CREATE TABLE customer (
    c_w_id          NUMBER(10)          NOT NULL,
    c_id            NUMBER(10)          NOT NULL,
    c_d_id          NUMBER(5)           NOT NULL,
    c_payment_cnt   NUMBER(10)          NOT NULL,
    c_delivery_cnt  NUMBER(10)          NOT NULL,
    c_since         DATE                NOT NULL,
    c_discount      NUMBER(4,4)         NOT NULL,
    c_credit        VARCHAR2(2 CHAR)    NOT NULL,
    c_last          VARCHAR2(16 CHAR)   NOT NULL,
    c_first         VARCHAR2(16 CHAR)   NOT NULL,
    c_balance       NUMBER(12,2)        NOT NULL,
    c_ytd_payment   NUMBER(12,2)        NOT NULL,
    c_credit_lim    NUMBER(12,2)        NOT NULL,
    c_middle        VARCHAR2(2 CHAR)    NOT NULL,
    c_street_1      VARCHAR2(20 CHAR)   NOT NULL,
    c_street_2      VARCHAR2(20 CHAR)   NOT NULL,
    c_city          VARCHAR2(20 CHAR)   NOT NULL,
    c_state         VARCHAR2(2 CHAR)    NOT NULL,
    c_zip           VARCHAR2(9 CHAR)    NOT NULL,
    c_phone         VARCHAR2(16 CHAR)   NOT NULL,
    c_data          VARCHAR2(500 CHAR)  NOT NULL
) CLUSTER customer_cluster (c_w_id, c_d_id, c_id);

-- name: create_stock
CREATE CLUSTER stock_cluster (s_w_id NUMBER(10), s_i_id NUMBER(10))
SIZE 350 INITRANS 3 {{table_options}} SINGLE TABLE HASHKEYS {scaled_100000}
HASH IS (s_w_id * 100000 + s_i_id);
CREATE TABLE stock (
    s_w_id        NUMBER(10)         NOT NULL,
    s_i_id        NUMBER(10)         NOT NULL,
    s_ytd         NUMBER(10)         NOT NULL,
    s_quantity    NUMBER(5)          NOT NULL,
    s_order_cnt   NUMBER(10)         NOT NULL,
    s_remote_cnt  NUMBER(10)         NOT NULL,
    s_data        VARCHAR2(50 CHAR)  NOT NULL,
    s_dist_01     VARCHAR2(24 CHAR)  NOT NULL,
    s_dist_02     VARCHAR2(24 CHAR)  NOT NULL,
    s_dist_03     VARCHAR2(24 CHAR)  NOT NULL,
    s_dist_04     VARCHAR2(24 CHAR)  NOT NULL,
    s_dist_05     VARCHAR2(24 CHAR)  NOT NULL,
    s_dist_06     VARCHAR2(24 CHAR)  NOT NULL,
    s_dist_07     VARCHAR2(24 CHAR)  NOT NULL,
    s_dist_08     VARCHAR2(24 CHAR)  NOT NULL,
    s_dist_09     VARCHAR2(24 CHAR)  NOT NULL,
    s_dist_10     VARCHAR2(24 CHAR)  NOT NULL
) CLUSTER stock_cluster (s_w_id, s_i_id);
