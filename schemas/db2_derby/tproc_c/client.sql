-- Apache Derby has no CASE of a value, only CASE of conditions.

-- name: client_select_item
-- An item, and the constant columns of its stock; no row for the unused item.
SELECT i_name, i_price, i_data, s_data,
       CASE WHEN CAST(:d_id AS INTEGER) = 1 THEN s_dist_01 WHEN CAST(:d_id AS INTEGER) = 2 THEN s_dist_02
            WHEN CAST(:d_id AS INTEGER) = 3 THEN s_dist_03 WHEN CAST(:d_id AS INTEGER) = 4 THEN s_dist_04
            WHEN CAST(:d_id AS INTEGER) = 5 THEN s_dist_05 WHEN CAST(:d_id AS INTEGER) = 6 THEN s_dist_06
            WHEN CAST(:d_id AS INTEGER) = 7 THEN s_dist_07 WHEN CAST(:d_id AS INTEGER) = 8 THEN s_dist_08
            WHEN CAST(:d_id AS INTEGER) = 9 THEN s_dist_09 ELSE s_dist_10 END
FROM item JOIN stock ON s_i_id = i_id
WHERE i_id = :i_id AND s_w_id = :supply_w_id;

-- name: client_update_payer
UPDATE customer
SET c_balance = c_balance - :h_amount,
    c_ytd_payment = c_ytd_payment + :h_amount,
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE WHEN c_credit = 'BC' THEN SUBSTR(CAST(:note AS VARCHAR(100)) || c_data, 1, 500) ELSE c_data END
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;

-- name: client_select_payer
SELECT c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
       c_credit_lim, c_discount, c_balance,
       CASE WHEN c_credit = 'BC' THEN SUBSTR(c_data, 1, 200) ELSE CAST(NULL AS VARCHAR(200)) END
FROM customer WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;
