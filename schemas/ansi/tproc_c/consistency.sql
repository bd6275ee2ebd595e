-- The consistency conditions of TPC-C 3.3.2, over the warehouses :w_low to :w_high. Each returns one
-- row with the number of warehouses, districts, customers, orders or lines that violate it.
-- Where two tables are compared, both are added up by the common key: no engine plans that badly. The columns of both have
-- the same names, as the standard demands where a UNION is referred to by them.

-- name: consistency_01
-- 3.3.2.1: w_ytd is the sum of its districts' d_ytd.
SELECT count(*) FROM (
    SELECT w_id FROM warehouse LEFT JOIN district ON d_w_id = w_id
    WHERE w_id BETWEEN :w_low AND :w_high
    GROUP BY w_id, w_ytd HAVING {{exact(w_ytd - coalesce(sum(d_ytd), 0))}} <> 0) broken;

-- name: consistency_02
-- 3.3.2.2: d_next_o_id - 1 is the district's highest order, and its highest new order where it has any.
SELECT count(*) FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS highest FROM orders
           WHERE o_w_id BETWEEN :w_low AND :w_high GROUP BY o_w_id, o_d_id) o
       ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS newest FROM new_order
           WHERE no_w_id BETWEEN :w_low AND :w_high GROUP BY no_w_id, no_d_id) n
       ON no_w_id = d_w_id AND no_d_id = d_id
WHERE d_w_id BETWEEN :w_low AND :w_high
  AND (d_next_o_id - 1 <> coalesce(highest, 0) OR d_next_o_id - 1 <> coalesce(newest, d_next_o_id - 1));

-- name: consistency_03
-- 3.3.2.3: the new orders of a district are numbered without a gap.
SELECT count(*) FROM (
    SELECT no_w_id FROM new_order WHERE no_w_id BETWEEN :w_low AND :w_high
    GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) broken;

-- name: consistency_04
-- 3.3.2.4: the number of order lines of a district is the sum of its orders' o_ol_cnt.
SELECT count(*) FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS stated FROM orders
           WHERE o_w_id BETWEEN :w_low AND :w_high GROUP BY o_w_id, o_d_id) o
       ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS counted FROM order_line
           WHERE ol_w_id BETWEEN :w_low AND :w_high GROUP BY ol_w_id, ol_d_id) l
       ON ol_w_id = d_w_id AND ol_d_id = d_id
WHERE d_w_id BETWEEN :w_low AND :w_high AND coalesce(stated, 0) <> coalesce(counted, 0);

-- name: consistency_05
-- 3.3.2.5: an order has no carrier exactly while it is a new order; a new order is an order.
SELECT count(*) FROM (
    SELECT w_id FROM (
        SELECT o_w_id AS w_id, o_d_id AS d_id, o_id AS order_id, 1 AS undelivered FROM orders
        WHERE o_w_id BETWEEN :w_low AND :w_high AND o_carrier_id IS NULL
        UNION ALL
        SELECT no_w_id AS w_id, no_d_id AS d_id, no_o_id AS order_id, -1 AS undelivered FROM new_order
        WHERE no_w_id BETWEEN :w_low AND :w_high) both_tables
    GROUP BY w_id, d_id, order_id HAVING sum(undelivered) <> 0) broken;

-- name: consistency_06
-- 3.3.2.6: each order has o_ol_cnt lines; each line has an order.
SELECT count(*) FROM (
    SELECT w_id FROM (
        SELECT o_w_id AS w_id, o_d_id AS d_id, o_id AS order_id, o_ol_cnt AS line_count FROM orders
        WHERE o_w_id BETWEEN :w_low AND :w_high
        UNION ALL
        SELECT ol_w_id AS w_id, ol_d_id AS d_id, ol_o_id AS order_id, -count(*) AS line_count FROM order_line
        WHERE ol_w_id BETWEEN :w_low AND :w_high GROUP BY ol_w_id, ol_d_id, ol_o_id) both_tables
    GROUP BY w_id, d_id, order_id HAVING sum(line_count) <> 0) broken;

-- name: consistency_07
-- 3.3.2.7: a line has no delivery date exactly while its order has no carrier.
SELECT count(*) FROM order_line
JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE ol_w_id BETWEEN :w_low AND :w_high AND o_w_id BETWEEN :w_low AND :w_high
  AND ((ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL));

-- name: consistency_08
-- 3.3.2.8: w_ytd is the sum of the payments made in the warehouse.
SELECT count(*) FROM warehouse
LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history
           WHERE h_w_id BETWEEN :w_low AND :w_high GROUP BY h_w_id) h ON h_w_id = w_id
WHERE w_id BETWEEN :w_low AND :w_high AND {{exact(w_ytd - coalesce(paid, 0))}} <> 0;

-- name: consistency_09
-- 3.3.2.9: d_ytd is the sum of the payments made in the district.
SELECT count(*) FROM district
LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history
           WHERE h_w_id BETWEEN :w_low AND :w_high GROUP BY h_w_id, h_d_id) h
       ON h_w_id = d_w_id AND h_d_id = d_id
WHERE d_w_id BETWEEN :w_low AND :w_high AND {{exact(d_ytd - coalesce(paid, 0))}} <> 0;

-- name: consistency_10
-- 3.3.2.10: c_balance is the amount of the customer's delivered lines less the payments.
SELECT count(*) FROM (
    SELECT w_id FROM (
        SELECT c_w_id AS w_id, c_d_id AS d_id, c_id AS customer_id, c_balance AS amount FROM customer
        WHERE c_w_id BETWEEN :w_low AND :w_high
        UNION ALL
        SELECT h_c_w_id AS w_id, h_c_d_id AS d_id, h_c_id AS customer_id, h_amount AS amount FROM history
        WHERE h_c_w_id BETWEEN :w_low AND :w_high
        UNION ALL
        SELECT w_id, d_id, max(customer_id) AS customer_id, -sum(delivered) AS amount FROM (
            SELECT o_w_id AS w_id, o_d_id AS d_id, o_id AS order_id, o_c_id AS customer_id, 0 AS delivered FROM orders
            WHERE o_w_id BETWEEN :w_low AND :w_high
            UNION ALL
            SELECT ol_w_id AS w_id, ol_d_id AS d_id, ol_o_id AS order_id, 0 AS customer_id, sum(ol_amount) AS delivered
            FROM order_line
            WHERE ol_w_id BETWEEN :w_low AND :w_high AND ol_delivery_d IS NOT NULL
            GROUP BY ol_w_id, ol_d_id, ol_o_id) both_tables
        GROUP BY w_id, d_id, order_id) amounts
    GROUP BY w_id, d_id, customer_id HAVING {{exact(sum(amount))}} <> 0) broken;

-- name: consistency_11
-- 3.3.2.11 after deliveries: orders less new orders are the 2100 of the population and those delivered since.
SELECT count(*) FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS ordered FROM orders
           WHERE o_w_id BETWEEN :w_low AND :w_high GROUP BY o_w_id, o_d_id) o
       ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS undelivered FROM new_order
           WHERE no_w_id BETWEEN :w_low AND :w_high GROUP BY no_w_id, no_d_id) n
       ON no_w_id = d_w_id AND no_d_id = d_id
LEFT JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS delivered FROM customer
           WHERE c_w_id BETWEEN :w_low AND :w_high GROUP BY c_w_id, c_d_id) c
       ON c_w_id = d_w_id AND c_d_id = d_id
WHERE d_w_id BETWEEN :w_low AND :w_high
  AND coalesce(ordered, 0) - coalesce(undelivered, 0) <> 2100 + coalesce(delivered, 0);

-- name: consistency_12
-- 3.3.2.12: c_balance + c_ytd_payment is the amount of the customer's delivered lines.
SELECT count(*) FROM (
    SELECT w_id FROM (
        SELECT c_w_id AS w_id, c_d_id AS d_id, c_id AS customer_id, c_balance + c_ytd_payment AS amount FROM customer
        WHERE c_w_id BETWEEN :w_low AND :w_high
        UNION ALL
        SELECT w_id, d_id, max(customer_id) AS customer_id, -sum(delivered) AS amount FROM (
            SELECT o_w_id AS w_id, o_d_id AS d_id, o_id AS order_id, o_c_id AS customer_id, 0 AS delivered FROM orders
            WHERE o_w_id BETWEEN :w_low AND :w_high
            UNION ALL
            SELECT ol_w_id AS w_id, ol_d_id AS d_id, ol_o_id AS order_id, 0 AS customer_id, sum(ol_amount) AS delivered
            FROM order_line
            WHERE ol_w_id BETWEEN :w_low AND :w_high AND ol_delivery_d IS NOT NULL
            GROUP BY ol_w_id, ol_d_id, ol_o_id) both_tables
        GROUP BY w_id, d_id, order_id) amounts
    GROUP BY w_id, d_id, customer_id HAVING {{exact(sum(amount))}} <> 0) broken;

-- name: consistency_stock
-- The specification has no condition on stock. The population sets these columns to 0 and has orders 1 to 3000, so
-- s_ytd, s_order_cnt and s_remote_cnt are sums over later lines. All warehouses together: lines refer to any of them.
SELECT count(*) FROM (
    SELECT w_id FROM (
        SELECT s_w_id AS w_id, sum(s_ytd) AS ytd, sum(s_order_cnt) AS order_count, sum(s_remote_cnt) AS remote_count
        FROM stock GROUP BY s_w_id
        UNION ALL
        SELECT ol_supply_w_id AS w_id, -sum(ol_quantity) AS ytd, -count(*) AS order_count,
               -sum(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 ELSE 0 END) AS remote_count
        FROM order_line WHERE ol_o_id > 3000 GROUP BY ol_supply_w_id) both_tables
    GROUP BY w_id HAVING sum(ytd) <> 0 OR sum(order_count) <> 0 OR sum(remote_count) <> 0) broken;
