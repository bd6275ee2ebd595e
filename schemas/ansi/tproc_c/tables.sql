-- The nine tables of TPC-C clause 1.3; the names are those of the specification. Columns of fixed width come first.
-- Counters are wider than TPC-C 1.3 requires: the hottest item of a warehouse is ordered 32,767 times within 17 minutes
-- at 100,000 NOPM.

-- name: create_item
CREATE TABLE item (
    i_id     {{integer}}        NOT NULL,
    i_im_id  {{integer}}        NOT NULL,
    i_price  {{decimal(5, 2)}}  NOT NULL,
    i_name   {{text(24)}}       NOT NULL,
    i_data   {{text(50)}}       NOT NULL
) {{table_options}};

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
    w_zip       {{char(9)}}         NOT NULL
) {{table_options}};

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
    d_zip        {{char(9)}}         NOT NULL
) {{table_options}};

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
    s_dist_10     {{char(24)}}  NOT NULL
) {{table_options}};

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
    c_data          {{text(500)}}       NOT NULL
) {{table_options}};

-- name: create_history
CREATE TABLE history (
    h_c_id    {{integer}}        NOT NULL,
    h_c_d_id  {{smallint}}       NOT NULL,
    h_d_id    {{smallint}}       NOT NULL,
    h_c_w_id  {{integer}}        NOT NULL,
    h_w_id    {{integer}}        NOT NULL,
    h_date    {{timestamp}}      NOT NULL,
    h_amount  {{decimal(6, 2)}}  NOT NULL,
    h_data    {{text(24)}}       NOT NULL
) {{table_options}};

-- name: create_orders
CREATE TABLE orders (
    o_w_id        {{integer}}    NOT NULL,
    o_id          {{integer}}    NOT NULL,
    o_c_id        {{integer}}    NOT NULL,
    o_d_id        {{smallint}}   NOT NULL,
    o_ol_cnt      {{smallint}}   NOT NULL,
    o_all_local   {{smallint}}   NOT NULL,
    o_carrier_id  {{smallint}},
    o_entry_d     {{timestamp}}  NOT NULL
) {{table_options}};

-- name: create_new_order
CREATE TABLE new_order (
    no_w_id  {{integer}}   NOT NULL,
    no_o_id  {{integer}}   NOT NULL,
    no_d_id  {{smallint}}  NOT NULL
) {{table_options}};

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
    ol_dist_info    {{char(24)}}       NOT NULL
) {{table_options}};
