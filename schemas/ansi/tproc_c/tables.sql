-- The nine tables of TPC-C clause 1.3, in standard SQL.
-- Columns of fixed width come first; the names are those of the specification.

-- name: create_history
CREATE TABLE history (
    h_c_id    INTEGER       NOT NULL,
    h_c_d_id  SMALLINT      NOT NULL,
    h_d_id    SMALLINT      NOT NULL,
    h_c_w_id  INTEGER       NOT NULL,
    h_w_id    INTEGER       NOT NULL,
    h_date    TIMESTAMP     NOT NULL,
    h_amount  NUMERIC(6,2)  NOT NULL,
    h_data    VARCHAR(24)   NOT NULL
);

-- name: key_history
-- A key for a table that has none in TPC-C; no other statement uses it.
ALTER TABLE history ADD COLUMN h_id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT history_pk PRIMARY KEY;

-- name: create_new_order
CREATE TABLE new_order (
    no_w_id  INTEGER   NOT NULL,
    no_o_id  INTEGER   NOT NULL,
    no_d_id  SMALLINT  NOT NULL
);

-- name: create_order_line
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
);

-- name: create_item
CREATE TABLE item (
    i_id     INTEGER       NOT NULL,
    i_im_id  INTEGER       NOT NULL,
    i_price  NUMERIC(5,2)  NOT NULL,
    i_name   VARCHAR(24)   NOT NULL,
    i_data   VARCHAR(50)   NOT NULL
);
