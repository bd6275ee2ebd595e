-- name: client_select_order_number
-- The order number just assigned, and the columns for the order's heading.
SELECT d_next_o_id - 1, {{now}} AS "entered [TIMESTAMP_TEXT]", w_tax, d_tax, c_discount, c_last, c_credit
FROM district
JOIN warehouse ON w_id = d_w_id
JOIN customer ON c_w_id = d_w_id AND c_d_id = d_id AND c_id = :c_id
WHERE d_w_id = :w_id AND d_id = :d_id;

-- name: client_select_addresses
SELECT w_street_1, w_street_2, w_city, w_state, w_zip, d_street_1, d_street_2, d_city, d_state, d_zip,
       {{now}} AS "paid [TIMESTAMP_TEXT]"
FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = :w_id AND d_id = :d_id;
