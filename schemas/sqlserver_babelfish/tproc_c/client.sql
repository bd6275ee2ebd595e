-- name: client_update_payer
-- OUTPUT takes no expressions, so the changed row is read.
UPDATE customer
SET c_balance = c_balance - CAST(:h_amount AS NUMERIC(6,2)),
    c_ytd_payment = c_ytd_payment + CAST(:h_amount AS NUMERIC(6,2)),
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit WHEN 'BC' THEN LEFT(CAST(:note AS VARCHAR(100)) + c_data, 500) ELSE c_data END
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;
SELECT c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
       c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN LEFT(c_data, 200) END
FROM customer WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;
