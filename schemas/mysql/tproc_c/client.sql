-- Statements of client SQL that differ from standard SQL.

-- name: client_select_item
-- An item, and the constant columns of its stock; no row for the unused item.
SELECT i_name, i_price, i_data, s_data,
       ELT(:d_id, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                  s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10)
FROM item JOIN stock ON s_i_id = i_id
WHERE i_id = :i_id AND s_w_id = :supply_w_id;

-- name: client_update_payer
UPDATE customer
SET c_balance = c_balance - CAST(:h_amount AS DECIMAL(6,2)),
    c_ytd_payment = c_ytd_payment + CAST(:h_amount AS DECIMAL(6,2)),
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit WHEN 'BC' THEN SUBSTRING(CONCAT(:note, c_data) FROM 1 FOR 500) ELSE c_data END
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;

-- name: client_update_district_ytd
UPDATE district SET d_ytd = d_ytd + CAST(:h_amount AS DECIMAL(6,2)) WHERE d_w_id = :w_id AND d_id = :d_id;

-- name: client_update_warehouse_ytd
UPDATE warehouse SET w_ytd = w_ytd + CAST(:h_amount AS DECIMAL(6,2)) WHERE w_id = :w_id;
