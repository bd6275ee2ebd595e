-- The columns are those of the tables in Oracle Database, which cache groups need.

-- name: create_history
-- A table of a cache group needs a primary key, and this one has none in TPC-C. The statements of TimesTen number the rows
-- that they insert; rows of the population have no number unless a cache group loads it.
CREATE SEQUENCE history_ids;
CREATE TABLE history (
    h_c_id    {{integer}}        NOT NULL,
    h_c_d_id  {{smallint}}       NOT NULL,
    h_d_id    {{smallint}}       NOT NULL,
    h_c_w_id  {{integer}}        NOT NULL,
    h_w_id    {{integer}}        NOT NULL,
    h_date    {{timestamp}}      NOT NULL,
    h_amount  {{decimal(6, 2)}}  NOT NULL,
    h_data    {{text(24)}}       NOT NULL,
    h_id      {{bigint}}
) {{table_options}};
