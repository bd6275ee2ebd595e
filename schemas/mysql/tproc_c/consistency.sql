-- Conditions that need FULL JOIN in standard SQL, which is not available: both sides are counted separately.

-- name: consistency_05
-- 3.3.2.5: an order has no carrier exactly while it is a new order; a new order is an order.
SELECT (SELECT COUNT(*) FROM orders
        LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
        WHERE o_w_id BETWEEN :w_low AND :w_high AND (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL))
     + (SELECT COUNT(*) FROM new_order
        LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
        WHERE no_w_id BETWEEN :w_low AND :w_high AND o_id IS NULL);

-- name: consistency_06
-- 3.3.2.6: each order has o_ol_cnt lines; each line has an order.
SELECT COUNT(*) FROM (
    SELECT w_id FROM (
        SELECT o_w_id AS w_id, o_d_id AS d_id, o_id AS id, o_ol_cnt AS said, 0 AS there FROM orders
        WHERE o_w_id BETWEEN :w_low AND :w_high
        UNION ALL
        SELECT ol_w_id, ol_d_id, ol_o_id, 0, COUNT(*) FROM order_line
        WHERE ol_w_id BETWEEN :w_low AND :w_high GROUP BY ol_w_id, ol_d_id, ol_o_id) AS counted
    GROUP BY w_id, d_id, id HAVING SUM(said) <> SUM(there)) AS broken;

-- name: consistency_stock
-- The specification has no condition on stock. The population sets these columns to 0 and has orders 1 to 3000, so
-- s_ytd, s_order_cnt and s_remote_cnt are sums over later lines. All warehouses together: lines refer to any of them.
SELECT COUNT(*) FROM (
    SELECT w_id FROM (
        SELECT s_w_id AS w_id, SUM(s_ytd) AS ytd, SUM(s_order_cnt) AS order_cnt, SUM(s_remote_cnt) AS remote_cnt
        FROM stock GROUP BY s_w_id
        UNION ALL
        SELECT ol_supply_w_id, -SUM(ol_quantity), -COUNT(*),
               -SUM(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 ELSE 0 END)
        FROM order_line WHERE ol_o_id > 3000 GROUP BY ol_supply_w_id) AS counted
    GROUP BY w_id HAVING SUM(ytd) <> 0 OR SUM(order_cnt) <> 0 OR SUM(remote_cnt) <> 0) AS broken;
