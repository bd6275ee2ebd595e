-- Statements of client SQL that return what they changed: data-change tables.

-- name: client_update_stock
-- TPC-C 2.4.2.2; returns the new quantity.
SELECT s_quantity FROM FINAL TABLE (
    UPDATE stock
    SET s_quantity = s_quantity - CAST(:quantity AS INTEGER)
                     + CASE WHEN s_quantity >= CAST(:quantity AS INTEGER) + 10 THEN 0 ELSE 91 END,
        s_ytd = s_ytd + CAST(:quantity AS INTEGER),
        s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + CAST(:remote AS INTEGER)
    WHERE s_w_id = :supply_w_id AND s_i_id = :i_id);

-- name: client_update_payer
-- Returns the columns of the customer that the terminal shows.
SELECT c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
       c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN {{substring(c_data, 1, 200)}} END
FROM FINAL TABLE (
    UPDATE customer
    SET c_balance = c_balance - CAST(:h_amount AS DECIMAL(6,2)),
        c_ytd_payment = c_ytd_payment + CAST(:h_amount AS DECIMAL(6,2)),
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE c_credit
                     WHEN 'BC' THEN {{substring(CAST(:note AS VARCHAR(100)) || c_data, 1, 500)}}
                     ELSE c_data
                 END
    WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id);
