-- What turns a copy of hdbkit's nine tables into the plain ones that HammerDB users know: no room kept in pages
-- for updates, stock keyed by item first, amounts of lines that may be unknown, no routines of ours.
ALTER TABLE warehouse SET (fillfactor = 100);
ALTER TABLE district SET (fillfactor = 100);
ALTER TABLE customer SET (fillfactor = 100);
ALTER TABLE orders SET (fillfactor = 100);
ALTER TABLE order_line SET (fillfactor = 100);
ALTER TABLE stock SET (fillfactor = 100);
ALTER TABLE stock DROP CONSTRAINT stock_pk;
ALTER TABLE order_line ALTER COLUMN ol_amount DROP NOT NULL;
DROP FUNCTION new_order;
DROP FUNCTION payment;
DROP FUNCTION order_status;
DROP FUNCTION delivery;
DROP FUNCTION stock_level;
