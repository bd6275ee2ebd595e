-- Statements of client SQL that differ from standard SQL.

-- name: client_update_stock
-- TPC-C 2.4.2.2; returns the new quantity.
UPDATE stock
SET s_quantity = s_quantity - :quantity + CASE WHEN s_quantity >= :quantity + 10 THEN 0 ELSE 91 END,
    s_ytd = s_ytd + :quantity,
    s_order_cnt = s_order_cnt + 1,
    s_remote_cnt = s_remote_cnt + :remote
OUTPUT inserted.s_quantity
WHERE s_w_id = :supply_w_id AND s_i_id = :i_id;

-- name: client_select_named
-- Customers with a last name, ordered by first name. Drivers send text as NVARCHAR, for which no index of VARCHAR is used.
SELECT c_id FROM customer
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_last = CAST(:c_last AS VARCHAR(16))
ORDER BY c_first, c_id;

-- name: client_update_payer
-- Returns the columns of the customer that the terminal shows.
UPDATE customer
SET c_balance = c_balance - CAST(:h_amount AS NUMERIC(6,2)),
    c_ytd_payment = c_ytd_payment + CAST(:h_amount AS NUMERIC(6,2)),
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit WHEN 'BC' THEN LEFT(CAST(:note AS VARCHAR(100)) + c_data, 500) ELSE c_data END
OUTPUT inserted.c_id, inserted.c_first, inserted.c_middle, inserted.c_last, inserted.c_street_1, inserted.c_street_2,
       inserted.c_city, inserted.c_state, inserted.c_zip, inserted.c_phone, inserted.c_since, inserted.c_credit,
       inserted.c_credit_lim, inserted.c_discount, inserted.c_balance,
       CASE inserted.c_credit WHEN 'BC' THEN LEFT(inserted.c_data, 200) END
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;

-- name: client_lock_deliveries
-- Serializes deliveries of a warehouse; the routine takes the same lock.
DECLARE @resource NVARCHAR(255), @taken INT
SET @resource = CONCAT('tproc_c delivery ', :w_id)
EXEC @taken = sp_getapplock @Resource = @resource, @LockMode = 'Exclusive', @LockOwner = 'Transaction'
IF @taken < 0 RAISERROR('no lock on the deliveries of the warehouse (sp_getapplock: %d)', 16, 1, @taken);

-- name: count_new_orders
-- The running total of new orders, whose growth is the throughput. A sum of integers is an integer.
SELECT SUM(CAST(d_next_o_id AS BIGINT)) FROM district;
