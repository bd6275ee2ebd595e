-- name: client_lock_deliveries
-- Serializes deliveries of a warehouse; the routine takes the same lock.
SELECT pg_advisory_xact_lock(hashtext('tproc_c delivery'), :w_id);

-- name: client_update_stock
-- TPC-C 2.4.2.2; returns the new quantity.
UPDATE stock
SET s_quantity = s_quantity - :quantity + CASE WHEN s_quantity >= :quantity + 10 THEN 0 ELSE 91 END,
    s_ytd = s_ytd + :quantity,
    s_order_cnt = s_order_cnt + 1,
    s_remote_cnt = s_remote_cnt + :remote
WHERE s_w_id = :supply_w_id AND s_i_id = :i_id
RETURNING s_quantity;

-- name: client_insert_order_lines
-- All lines of an order.
INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                        ol_dist_info)
SELECT :w_id, :d_id, :o_id, line.*
FROM unnest(CAST(:numbers AS SMALLINT[]), CAST(:i_ids AS INTEGER[]), CAST(:supply_w_ids AS INTEGER[]),
            CAST(:quantities AS SMALLINT[]), CAST(:amounts AS NUMERIC[]), CAST(:dist_infos AS TEXT[])) AS line;

-- name: client_update_payer
-- Returns the columns of the customer that the terminal shows.
UPDATE customer
SET c_balance = c_balance - :h_amount,
    c_ytd_payment = c_ytd_payment + :h_amount,
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit WHEN 'BC' THEN left(:note || c_data, 500) ELSE c_data END
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id
RETURNING c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
          c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN left(c_data, 200) END;
