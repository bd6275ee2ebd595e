-- name: client_update_stock
-- TPC-C 2.4.2.2; returns the new quantity.
UPDATE stock
SET s_quantity = s_quantity - :quantity + CASE WHEN s_quantity >= :quantity + 10 THEN 0 ELSE 91 END,
    s_ytd = s_ytd + :quantity,
    s_order_cnt = s_order_cnt + 1,
    s_remote_cnt = s_remote_cnt + :remote
WHERE s_w_id = :supply_w_id AND s_i_id = :i_id
RETURNING s_quantity;

-- name: client_update_payer
-- Returns the columns of the customer that the terminal shows.
UPDATE customer
SET c_balance = c_balance - :h_amount,
    c_ytd_payment = c_ytd_payment + :h_amount,
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit
                 WHEN 'BC' THEN {{substring({{concat({{typed(:note, {{text(100)}})}}, c_data)}}, 1, 500)}}
                 ELSE c_data
             END
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id
RETURNING c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
          c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN {{substring(c_data, 1, 200)}} END;
