-- The nine tables of TPC-C clause 1.3 and the two that keep a build's progress, in standard SQL.
-- Columns of fixed width stand first; the names are the specification's.

-- name: create_schema
CREATE SCHEMA tproc_c;

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
-- A key for a table that has none by TPC-C; no other statement names it.
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

-- name: create_build
-- What is being built and how far it came; a build goes on where it stopped.
CREATE TABLE build_spec (spec VARCHAR(4000) NOT NULL, finished SMALLINT NOT NULL);
CREATE TABLE build_part (part VARCHAR(100) NOT NULL PRIMARY KEY, rows BIGINT NOT NULL);

-- name: insert_build_spec
INSERT INTO build_spec (spec, finished) VALUES (:spec, 0);

-- name: select_build_spec
SELECT spec FROM build_spec;

-- name: insert_build_part
INSERT INTO build_part (part, rows) VALUES (:part, :rows);

-- name: select_build_parts
SELECT part, rows FROM build_part ORDER BY part;

-- name: finish_build
UPDATE build_spec SET finished = 1;

-- name: select_build_finished
-- 1 once everything is built, else 0.
SELECT finished FROM build_spec;

-- name: drop_warehouse
DROP TABLE warehouse;

-- name: drop_district
DROP TABLE district;

-- name: drop_customer
DROP TABLE customer;

-- name: drop_history
DROP TABLE history;

-- name: drop_orders
DROP TABLE orders;

-- name: drop_new_order
DROP TABLE new_order;

-- name: drop_order_line
DROP TABLE order_line;

-- name: drop_stock
DROP TABLE stock;

-- name: drop_item
DROP TABLE item;

-- name: drop_build
DROP TABLE build_part;
DROP TABLE build_spec;

-- name: drop_schema
-- Refused by the server while anything is left in it.
DROP SCHEMA tproc_c RESTRICT;
