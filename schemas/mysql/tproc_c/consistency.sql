-- Two consistency conditions of TPC-C 3.3.2, customer by customer: the general form fills a temporary table with several
-- rows per customer, which costs these engines more than the reading of orders through their index by customer.

-- name: consistency_10
-- 3.3.2.10: c_balance is the amount of the customer's delivered lines less the payments.
SELECT count(*) FROM customer
LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history
           WHERE h_c_w_id BETWEEN :w_low AND :w_high GROUP BY h_c_w_id, h_c_d_id, h_c_id) h
       ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
WHERE c_w_id BETWEEN :w_low AND :w_high
  AND c_balance + coalesce(paid, 0) <> (
        SELECT coalesce(sum(ol_amount), 0) FROM orders
        JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
        WHERE o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id AND ol_delivery_d IS NOT NULL);

-- name: consistency_12
-- 3.3.2.12: c_balance + c_ytd_payment is the amount of the customer's delivered lines.
SELECT count(*) FROM customer
WHERE c_w_id BETWEEN :w_low AND :w_high
  AND c_balance + c_ytd_payment <> (
        SELECT coalesce(sum(ol_amount), 0) FROM orders
        JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
        WHERE o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id AND ol_delivery_d IS NOT NULL);
