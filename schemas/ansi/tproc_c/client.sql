-- The five transactions as single statements of the client (in batches where possible), for routines: client.
-- workloads/tproc_c/client.py has their sequence.

-- name: client_number_order
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w_id AND d_id = :d_id;

-- name: client_select_order_number
-- The order number just assigned, and the columns for the order's heading.
SELECT d_next_o_id - 1, {{now}}, w_tax, d_tax, c_discount, c_last, c_credit
FROM district
JOIN warehouse ON w_id = d_w_id
JOIN customer ON c_w_id = d_w_id AND c_d_id = d_id AND c_id = :c_id
WHERE d_w_id = :w_id AND d_id = :d_id;

-- name: client_select_item
-- An item, and the constant columns of its stock; no row for the unused item.
SELECT i_name, i_price, i_data, s_data,
       CASE {{typed(:d_id, {{integer}})}}
           WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
           WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
           WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
FROM item JOIN stock ON s_i_id = i_id
WHERE i_id = :i_id AND s_w_id = :supply_w_id;

-- name: client_insert_order
INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
VALUES (:w_id, :d_id, :o_id, :c_id, :o_entry_d, :o_ol_cnt, :o_all_local);

-- name: client_insert_new_order
INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (:w_id, :d_id, :o_id);

-- name: client_update_stock
-- TPC-C 2.4.2.2: a quantity that would fall below 10 is increased by 91. Returns the new quantity, if it can.
UPDATE stock
SET s_quantity = s_quantity - :quantity + CASE WHEN s_quantity >= :quantity + 10 THEN 0 ELSE 91 END,
    s_ytd = s_ytd + :quantity,
    s_order_cnt = s_order_cnt + 1,
    s_remote_cnt = s_remote_cnt + :remote
WHERE s_w_id = :supply_w_id AND s_i_id = :i_id
{{returning(s_quantity)}};

-- name: client_select_quantity
SELECT s_quantity FROM stock WHERE s_w_id = :supply_w_id AND s_i_id = :i_id;

-- name: client_insert_order_line
INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                        ol_dist_info)
VALUES (:w_id, :d_id, :o_id, :number, :i_id, :supply_w_id, :quantity, :amount, :dist_info);

-- name: client_select_named
-- Customers with a last name, ordered by first name.
SELECT c_id FROM customer WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_last = :c_last ORDER BY c_first, c_id;

-- name: client_update_payer
-- Returns the columns of client_select_payer, if it can.
UPDATE customer
SET c_balance = c_balance - :h_amount,
    c_ytd_payment = c_ytd_payment + :h_amount,
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit
                 WHEN 'BC' THEN {{substring({{concat({{typed(:note, {{text(100)}})}}, c_data)}}, 1, 500)}}
                 ELSE c_data
             END
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id
{{returning(c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
            c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN {{substring(c_data, 1, 200)}} END)}};

-- name: client_select_payer
SELECT c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
       c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN {{substring(c_data, 1, 200)}} END
FROM customer WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;

-- name: client_update_district_ytd
UPDATE district SET d_ytd = d_ytd + :h_amount WHERE d_w_id = :w_id AND d_id = :d_id;

-- name: client_update_warehouse_ytd
UPDATE warehouse SET w_ytd = w_ytd + :h_amount WHERE w_id = :w_id;

-- name: client_select_addresses
SELECT w_street_1, w_street_2, w_city, w_state, w_zip, d_street_1, d_street_2, d_city, d_state, d_zip, {{now}}
FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = :w_id AND d_id = :d_id;

-- name: client_insert_history
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
SELECT {{typed(:c_id, {{integer}})}}, {{typed(:c_d_id, {{smallint}})}}, {{typed(:c_w_id, {{integer}})}}, d_id, w_id, {{now}},
       {{typed(:h_amount, {{decimal(6, 2)}})}}, {{concat(w_name, {{concat('    ', d_name)}})}}
FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = :w_id AND d_id = :d_id;

-- name: client_select_last_order
-- A customer's balance and the heading of the last order.
SELECT {{top(1)}} c_id, c_first, c_middle, c_last, c_balance, o_id, o_entry_d, o_carrier_id
FROM customer JOIN orders ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id
ORDER BY o_id DESC {{limit(1)}};

-- name: client_select_lines
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id = :o_id ORDER BY ol_number;

-- name: client_lock_deliveries
-- Serializes deliveries of a warehouse. They lock the item with the warehouse's number: no other transaction locks
-- items, so that orders and payments continue.
SELECT i_id FROM item WHERE i_id = :w_id {{for_update}};

-- name: client_select_oldest
-- The oldest new order of a district: its number, its customer, and the amount.
SELECT {{top(1)}} no_o_id, o_c_id,
       (SELECT {{exact(sum(ol_amount))}} FROM order_line
        WHERE ol_w_id = no_w_id AND ol_d_id = no_d_id AND ol_o_id = no_o_id)
FROM new_order JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
WHERE no_w_id = :w_id AND no_d_id = :d_id
ORDER BY no_o_id {{limit(1)}};

-- name: client_delete_new_order
DELETE FROM new_order WHERE no_w_id = :w_id AND no_d_id = :d_id AND no_o_id = :o_id;

-- name: client_update_carrier
UPDATE orders SET o_carrier_id = :o_carrier_id WHERE o_w_id = :w_id AND o_d_id = :d_id AND o_id = :o_id;

-- name: client_update_lines
UPDATE order_line SET ol_delivery_d = {{now}} WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id = :o_id;

-- name: client_update_receiver
-- Adds the amount of a delivered order to the customer's balance.
UPDATE customer SET c_balance = c_balance + :amount, c_delivery_cnt = c_delivery_cnt + 1
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;

-- name: client_count_low_stock
-- The last 20 orders are a range between two single values: optimizers estimate that as few rows, and a join with the
-- district as many.
SELECT count(*)
FROM (SELECT DISTINCT ol_i_id FROM order_line
      WHERE ol_w_id = :w_id AND ol_d_id = :d_id
        AND ol_o_id BETWEEN (SELECT d_next_o_id - 20 FROM district WHERE d_w_id = :w_id AND d_id = :d_id)
                        AND (SELECT d_next_o_id - 1 FROM district WHERE d_w_id = :w_id AND d_id = :d_id)) recent
JOIN stock ON s_w_id = :w_id AND s_i_id = ol_i_id
WHERE s_quantity < :threshold;
