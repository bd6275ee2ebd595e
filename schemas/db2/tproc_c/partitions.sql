-- variant: partitions
-- With the schema option partitions: the tables that grow most are partitioned by ranges of warehouses. The word scaled_N
-- is N times the number of warehouses, each_N the part of that in a partition.

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
    ol_amount       DECIMAL(6,2)  NOT NULL,
    ol_dist_info    CHAR(24)      NOT NULL
) {{table_options}} PARTITION BY RANGE (ol_w_id) (STARTING (1) ENDING ({scaled_1}) EVERY ({each_1}), ENDING (MAXVALUE));

-- name: create_orders_partitioned
CREATE TABLE orders (
    o_w_id        INTEGER    NOT NULL,
    o_id          INTEGER    NOT NULL,
    o_c_id        INTEGER    NOT NULL,
    o_d_id        SMALLINT   NOT NULL,
    o_ol_cnt      SMALLINT   NOT NULL,
    o_all_local   SMALLINT   NOT NULL,
    o_carrier_id  SMALLINT,
    o_entry_d     TIMESTAMP  NOT NULL
) {{table_options}} PARTITION BY RANGE (o_w_id) (STARTING (1) ENDING ({scaled_1}) EVERY ({each_1}), ENDING (MAXVALUE));

-- name: create_history_partitioned
CREATE TABLE history (
    h_c_id    INTEGER       NOT NULL,
    h_c_d_id  SMALLINT      NOT NULL,
    h_d_id    SMALLINT      NOT NULL,
    h_c_w_id  INTEGER       NOT NULL,
    h_w_id    INTEGER       NOT NULL,
    h_date    TIMESTAMP     NOT NULL,
    h_amount  DECIMAL(6,2)  NOT NULL,
    h_data    VARCHAR(24)   NOT NULL
) {{table_options}} PARTITION BY RANGE (h_w_id) (STARTING (1) ENDING ({scaled_1}) EVERY ({each_1}), ENDING (MAXVALUE));
