-- What turns a copy of hdbkit's nine tables into the plain ones that HammerDB users know: no room kept in pages
-- for updates, stock keyed by item first, moments with time zones, small counters, amounts of lines that may be
-- unknown, secondary indexes that are unique, no routines of ours, no schema of their own.
ALTER TABLE warehouse SET (fillfactor = 100);
ALTER TABLE district SET (fillfactor = 100);
ALTER TABLE customer SET (fillfactor = 100);
ALTER TABLE orders SET (fillfactor = 100);
ALTER TABLE order_line SET (fillfactor = 100);
ALTER TABLE stock SET (fillfactor = 100);
ALTER TABLE stock DROP CONSTRAINT stock_pk;
ALTER TABLE stock ADD CONSTRAINT stock_pk PRIMARY KEY (s_i_id, s_w_id);
ALTER TABLE history ALTER COLUMN h_date TYPE timestamptz;
ALTER TABLE district ALTER COLUMN d_ytd TYPE numeric(12, 2);
ALTER TABLE orders ALTER COLUMN o_entry_d TYPE timestamptz;
ALTER TABLE order_line
    ALTER COLUMN ol_delivery_d TYPE timestamptz, ALTER COLUMN ol_amount DROP NOT NULL,
    ALTER COLUMN ol_dist_info DROP NOT NULL;
ALTER TABLE customer
    ALTER COLUMN c_since TYPE timestamptz, ALTER COLUMN c_payment_cnt TYPE smallint,
    ALTER COLUMN c_delivery_cnt TYPE smallint;
ALTER TABLE stock ALTER COLUMN s_order_cnt TYPE smallint, ALTER COLUMN s_remote_cnt TYPE smallint;
DROP INDEX customer_by_name;
CREATE UNIQUE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id);
DROP INDEX orders_by_customer;
CREATE UNIQUE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
DROP FUNCTION new_order;
DROP FUNCTION payment;
DROP FUNCTION order_status;
DROP FUNCTION delivery;
DROP FUNCTION stock_level;
DROP TYPE new_order_reply;
DROP TYPE payment_reply;
DROP TABLE build_spec;
DROP TABLE build_part;
ALTER TABLE warehouse SET SCHEMA public;
ALTER TABLE district SET SCHEMA public;
ALTER TABLE customer SET SCHEMA public;
ALTER TABLE history SET SCHEMA public;
ALTER TABLE orders SET SCHEMA public;
ALTER TABLE new_order SET SCHEMA public;
ALTER TABLE order_line SET SCHEMA public;
ALTER TABLE stock SET SCHEMA public;
ALTER TABLE item SET SCHEMA public;
DROP SCHEMA tproc_c;
