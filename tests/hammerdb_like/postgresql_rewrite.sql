-- One by one: every table written anew.
VACUUM FULL warehouse;
VACUUM FULL district;
VACUUM FULL customer;
VACUUM FULL orders;
VACUUM FULL order_line;
VACUUM FULL stock;
VACUUM ANALYZE;
