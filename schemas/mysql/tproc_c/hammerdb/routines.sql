-- The procedures of a schema built by HammerDB 4 to 6. Each begins, commits and rolls back by itself, so a call is a
-- whole transaction and succeeds even after a rollback. Results are left in session variables, which are read in the
-- same packet: HammerDB reads them too.

-- name: list_keys
-- Tables that have a primary key.
SELECT DISTINCT TABLE_NAME FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME = 'PRIMARY' ORDER BY TABLE_NAME;

-- name: list_routines
-- The existing routines, and the type of each: a procedure that is its own transaction.
SELECT LOWER(ROUTINE_NAME), 'transaction' FROM information_schema.ROUTINES
WHERE ROUTINE_SCHEMA = DATABASE() AND ROUTINE_TYPE = 'PROCEDURE' ORDER BY ROUTINE_NAME;

-- name: call_new_order_transaction
-- One call in 99 has an unused item and is rolled back silently, so the order is queried in the same packet. Null if
-- it does not exist.
SET @no_d_next_o_id = 0;
CALL NEWORD(:w_id, :max_w_id, :d_id, :c_id, :ol_cnt, @no_c_discount, @no_c_last, @no_c_credit, @no_d_tax, @no_w_tax,
            @no_d_next_o_id, NOW());
SELECT @no_c_discount, @no_c_last, @no_c_credit, @no_d_tax, @no_w_tax,
       (SELECT o_id FROM orders
        WHERE o_w_id = :w_id AND o_d_id = :d_id AND o_id = @no_d_next_o_id AND o_c_id = :c_id);

-- name: call_payment_transaction
SET @p_w_id = :w_id, @p_d_id = :d_id, @p_c_w_id = :c_w_id, @p_c_d_id = :c_d_id, @byname = :byname,
    @p_h_amount = :amount, @p_c_last = :c_last, @p_c_id = :c_id, @p_c_credit = '0', @p_c_balance = 0;
CALL PAYMENT(@p_w_id, @p_d_id, @p_c_w_id, @p_c_d_id, @p_c_id, @byname, @p_h_amount, @p_c_last,
             @p_w_street_1, @p_w_street_2, @p_w_city, @p_w_state, @p_w_zip,
             @p_d_street_1, @p_d_street_2, @p_d_city, @p_d_state, @p_d_zip,
             @p_c_first, @p_c_middle, @p_c_street_1, @p_c_street_2, @p_c_city, @p_c_state, @p_c_zip, @p_c_phone,
             @p_c_since, @p_c_credit, @p_c_credit_lim, @p_c_discount, @p_c_balance, @p_c_data, NOW());
SELECT @p_c_id, @p_c_last, @p_w_street_1, @p_w_street_2, @p_w_city, @p_w_state, @p_w_zip,
       @p_d_street_1, @p_d_street_2, @p_d_city, @p_d_state, @p_d_zip, @p_c_first, @p_c_middle,
       @p_c_street_1, @p_c_street_2, @p_c_city, @p_c_state, @p_c_zip, @p_c_phone,
       @p_c_since, @p_c_credit, @p_c_credit_lim, @p_c_discount, @p_c_balance, @p_c_data;

-- name: call_order_status_transaction
SET @os_w_id = :w_id, @os_d_id = :d_id, @os_c_id = :c_id, @byname = :byname, @os_c_last = :c_last;
CALL OSTAT(@os_w_id, @os_d_id, @os_c_id, @byname, @os_c_last, @os_c_first, @os_c_middle, @os_c_balance, @os_o_id,
           @os_entdate, @os_o_carrier_id);
SELECT @os_c_id, @os_c_last, @os_c_first, @os_c_middle, @os_c_balance, @os_o_id, @os_entdate, @os_o_carrier_id;

-- name: call_delivery_transaction
-- The procedure of HammerDB 4 commits after each district and begins nothing, since its sessions have no autocommit.
SET autocommit = 0;
CALL DELIVERY(:w_id, :carrier_id, NOW());
SET autocommit = 1;

-- name: call_stock_level_transaction
CALL SLEV(:w_id, :d_id, :threshold, @stock_count);
SELECT @stock_count;
