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
    PRIMARY KEY (o_w_id, o_d_id, o_id)
),
new_order (
    no_w_id  {{integer}}   NOT NULL,
    no_o_id  {{integer}}   NOT NULL,
    no_d_id  {{smallint}}  NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id),
    FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)
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
    FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)
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
    PRIMARY KEY (h_id)
);

-- commands: number_cached_history
-- The sequence continues behind the rows that were loaded.
SELECT 'CREATE SEQUENCE history_ids START WITH ' || TO_CHAR(n)
FROM (SELECT COALESCE(MAX(h_id), 0) + 1 AS n FROM history) next_free
WHERE NOT EXISTS (SELECT 1 FROM sys.sequences WHERE RTRIM(name) = 'HISTORY_IDS' AND RTRIM(owner) = USER);
