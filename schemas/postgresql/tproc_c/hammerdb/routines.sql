-- The routines of a schema built by HammerDB 4 to 6: functions or procedures. The server runs both in one
-- transaction, and here they take the same values in the same order. A new order's row ends with its number; 0: not
-- returned.

-- name: list_tables
-- Tables in this account's search path, without partitions.
SELECT relname FROM pg_class
WHERE relkind IN ('r', 'p') AND NOT relispartition AND pg_table_is_visible(oid)
  AND relnamespace <> 'pg_catalog'::regnamespace
ORDER BY relname;

-- name: list_keys
-- Those of them that have a primary key.
SELECT relname FROM pg_class JOIN pg_index ON indrelid = pg_class.oid
WHERE indisprimary AND NOT relispartition AND pg_table_is_visible(pg_class.oid)
ORDER BY relname;

-- name: list_routines
-- HammerDB's routines and their types; procedures first if both exist.
SELECT DISTINCT proname, CASE prokind WHEN 'p' THEN 'procedure' ELSE 'function' END AS kind FROM pg_proc
WHERE proname IN ('neword', 'payment', 'ostat', 'delivery', 'slev') AND pg_function_is_visible(oid)
ORDER BY kind DESC, proname;

-- name: silent_after_ms
-- After a deadlock or a serialization failure, a procedure rolls back silently; a function cannot, and fails. Calls
-- that took less than this had no deadlock, and there are no serialization failures under read committed.
SELECT CASE current_setting('transaction_isolation') WHEN 'read committed' THEN setting::integer ELSE 0 END
FROM pg_settings WHERE name = 'deadlock_timeout';

-- name: count_order
-- Whether a new order exists.
SELECT count(*) FROM orders WHERE o_w_id = :w_id AND o_d_id = :d_id AND o_id = :o_id AND o_c_id = :c_id;

-- name: call_new_order_function
-- It gives the order's amount, not its number.
SELECT neword(:w_id, :max_w_id, :d_id, :c_id, :ol_cnt, 0), 0;

-- name: call_payment_function
-- The function expects the customer's number at an earlier position than the procedure.
WITH given AS (
    SELECT :w_id::integer AS w_id, :d_id::integer AS d_id, :c_w_id::integer AS c_w_id, :c_d_id::integer AS c_d_id,
           :byname::integer AS byname, :amount::numeric AS amount, :c_last::varchar AS c_last, :c_id::integer AS c_id)
SELECT payment(w_id, d_id, c_w_id, c_d_id, c_id, byname, amount, c_last, '0', 0) FROM given;

-- name: call_order_status_function
SELECT * FROM ostat(:w_id, :d_id, :c_id, :byname, :c_last) AS (
    ol_i_id integer, ol_supply_w_id integer, ol_quantity smallint, ol_amount numeric, ol_delivery_d timestamptz,
    c_id integer, c_last varchar, c_first varchar, c_middle varchar, c_balance numeric,
    o_id integer, o_entry_d timestamp, o_carrier_id integer);

-- name: call_delivery_function
SELECT delivery(:w_id, :carrier_id);

-- name: call_stock_level_function
SELECT slev(:w_id, :d_id, :threshold);

-- name: call_new_order_procedure
CALL neword(:w_id, :max_w_id, :d_id, :c_id, :ol_cnt, 0.0, '', '', 0.0, 0.0, 0, LOCALTIMESTAMP(0));

-- name: call_payment_procedure
CALL payment(:w_id, :d_id, :c_w_id, :c_d_id, :byname, :amount, '0', :c_last, :c_id,
             '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '',
             LOCALTIMESTAMP(0), 0.0, 0.0, 0.0, '', LOCALTIMESTAMP(0));

-- name: call_order_status_procedure
CALL ostat(:w_id, :d_id, :c_id, :byname, :c_last, '', '', 0.0, 0, LOCALTIMESTAMP(0), 0, '');

-- name: call_delivery_procedure
CALL delivery(:w_id, :carrier_id, LOCALTIMESTAMP(0));

-- name: call_stock_level_procedure
CALL slev(:w_id, :d_id, :threshold, 0);
