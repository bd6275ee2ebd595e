-- Statements of client SQL that differ from standard SQL.

-- name: client_lock_deliveries
-- Serializes deliveries of a warehouse. They lock the item with the warehouse's number: no other transaction locks
-- items, so that orders and payments continue.
SELECT i_id FROM item WHERE i_id = :w_id FOR UPDATE;

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

-- name: client_insert_history
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
SELECT :c_id, :c_d_id, :c_w_id, d_id, w_id, LOCALTIMESTAMP, :h_amount, CONCAT(w_name, '    ', d_name)
FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = :w_id AND d_id = :d_id;

-- name: client_select_last_order
-- A customer's balance and the heading of the last order.
SELECT c_id, c_first, c_middle, c_last, c_balance, o_id, o_entry_d, o_carrier_id
FROM customer JOIN orders ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id
ORDER BY o_id DESC LIMIT 1;

-- name: client_select_oldest
-- The oldest new order of a district: its number, its customer, and the amount.
SELECT no_o_id, o_c_id,
       (SELECT SUM(ol_amount) FROM order_line
        WHERE ol_w_id = no_w_id AND ol_d_id = no_d_id AND ol_o_id = no_o_id)
FROM new_order JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
WHERE no_w_id = :w_id AND no_d_id = :d_id
ORDER BY no_o_id LIMIT 1;

-- name: client_count_low_stock
SELECT COUNT(*)
FROM (SELECT DISTINCT ol_i_id FROM district
      JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id
                     AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
      WHERE d_w_id = :w_id AND d_id = :d_id) AS recent
JOIN stock ON s_w_id = :w_id AND s_i_id = ol_i_id
WHERE s_quantity < :threshold;
