-- After tables.sql, one by one: every table written anew, then stock's key.
VACUUM FULL warehouse;
VACUUM FULL district;
VACUUM FULL customer;
VACUUM FULL orders;
VACUUM FULL order_line;
VACUUM FULL stock;
ALTER TABLE stock ADD CONSTRAINT stock_pk PRIMARY KEY (s_i_id, s_w_id);
VACUUM ANALYZE;
