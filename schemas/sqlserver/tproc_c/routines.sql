-- The five transactions as procedures. An error rolls the transaction back and ends the procedure (XACT_ABORT).
--
-- A procedure returns the columns of its answer in one or more results. One whose first column is `line` has a row for
-- each line: its other columns are arrays of the answer.
--
-- All transactions lock rows in the same order, so that they never deadlock with each other: stock by (warehouse, item),
-- a payment's customer before district and warehouse. What is only read is read before the first lock.

-- name: create_routine_new_order
-- TPC-C 2.4.2. Arrays are JSON text, with 10 characters for each element. A line with the unused item rolls the order back, and there is no answer.
{{create_procedure}} new_order
    @w_id INT, @d_id INT, @c_id INT, @item_ids VARCHAR(400), @supply_w_ids VARCHAR(400), @quantities VARCHAR(400)
AS
BEGIN
    SET NOCOUNT ON
    SET XACT_ABORT ON
    DECLARE @lines TABLE (
        line SMALLINT NOT NULL PRIMARY KEY, turn SMALLINT NOT NULL, item_id INT NOT NULL, supply_w_id INT NOT NULL,
        quantity SMALLINT NOT NULL, i_name {{text(24)}}, s_quantity SMALLINT, brand CHAR(1), i_price NUMERIC(5,2),
        amount NUMERIC(6,2), dist_info {{char(24)}})
    DECLARE @turn INT, @count INT, @all_local SMALLINT, @unused INT, @item_id INT, @supply_w_id INT, @quantity SMALLINT
    DECLARE @next_o_id INT, @left SMALLINT, @entered DATETIME2(6), @total NUMERIC(12,2)
    DECLARE @w_tax NUMERIC(4,4), @d_tax NUMERIC(4,4), @discount NUMERIC(4,4), @last VARCHAR(16), @credit CHAR(2)
    DECLARE @name VARCHAR(24), @price NUMERIC(5,2), @i_data VARCHAR(50), @s_data VARCHAR(50), @dist_info CHAR(24)

    INSERT INTO @lines (line, turn, item_id, supply_w_id, quantity)
    SELECT number, ROW_NUMBER() OVER (ORDER BY supply_w_id, item_id, number), item_id, supply_w_id, quantity
    FROM (SELECT CAST(i.[key] AS INT) + 1 AS number, CAST(i.value AS INT) AS item_id, CAST(s.value AS INT) AS supply_w_id,
                 CAST(q.value AS INT) AS quantity
          FROM OPENJSON(@item_ids) AS i
          JOIN OPENJSON(@supply_w_ids) AS s ON s.[key] = i.[key]
          JOIN OPENJSON(@quantities) AS q ON q.[key] = i.[key]) AS given
    SELECT @count = COUNT(*), @all_local = MIN(CASE WHEN supply_w_id = @w_id THEN 1 ELSE 0 END) FROM @lines
    SET @entered = SYSDATETIME()
    SET @unused = 0

    BEGIN TRANSACTION
    SELECT @w_tax = w_tax, @discount = c_discount, @last = c_last, @credit = c_credit
    FROM warehouse JOIN customer ON c_w_id = w_id
    WHERE w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id

    UPDATE district SET {{changed(@next_o_id, d_next_o_id, d_next_o_id + 1)}}, @d_tax = d_tax
    WHERE d_w_id = @w_id AND d_id = @d_id

    SET @turn = 1
    WHILE @turn <= @count
    BEGIN
        SELECT @item_id = item_id, @supply_w_id = supply_w_id, @quantity = quantity FROM @lines WHERE turn = @turn
        SET @name = NULL
        SELECT @name = i_name, @price = i_price, @i_data = i_data, @s_data = s_data,
               @dist_info = CASE @d_id
                   WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                   WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                   WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
        FROM item JOIN stock ON s_i_id = i_id
        WHERE i_id = @item_id AND s_w_id = @supply_w_id
        IF @name IS NULL
            SET @unused = 1
        ELSE
        BEGIN
            UPDATE stock
            SET {{changed(@left, s_quantity, s_quantity - @quantity + CASE WHEN s_quantity >= @quantity + 10 THEN 0 ELSE 91 END)}},
                s_ytd = s_ytd + @quantity,
                s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + CASE WHEN @supply_w_id = @w_id THEN 0 ELSE 1 END
            WHERE s_w_id = @supply_w_id AND s_i_id = @item_id
            UPDATE @lines
            SET i_name = @name, s_quantity = @left, i_price = @price, amount = @quantity * @price, dist_info = @dist_info,
                brand = CASE WHEN @i_data LIKE '%ORIGINAL%' AND @s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END
            WHERE turn = @turn
        END
        SET @turn = @turn + 1
    END
    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (@w_id, @d_id, @next_o_id - 1, @c_id, @entered, @count, @all_local)
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (@w_id, @d_id, @next_o_id - 1)
    INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                            ol_dist_info)
    SELECT @w_id, @d_id, @next_o_id - 1, line, item_id, supply_w_id, quantity, amount, dist_info
    FROM @lines WHERE i_name IS NOT NULL
    IF @unused = 1
    BEGIN
        ROLLBACK TRANSACTION
        RETURN
    END
    COMMIT TRANSACTION
    SELECT @total = ROUND(SUM(amount) * (1 - @discount) * (1 + @w_tax + @d_tax), 2) FROM @lines
    SELECT @next_o_id - 1 AS o_id, @entered AS o_entry_d, @w_tax AS w_tax, @d_tax AS d_tax, @discount AS c_discount,
           @last AS c_last, @credit AS c_credit, @total AS total
    SELECT line, i_name, s_quantity, brand, i_price, amount FROM @lines ORDER BY line
END;

-- attempt: call_new_order
EXEC new_order :w_id, :d_id, :c_id, :item_ids, :supply_w_ids, :quantities;

-- name: create_routine_payment
-- TPC-C 2.5.2. By name: of the n customers ordered by first name the one at n/2, rounded up. The customer is locked
-- first and the warehouse, which all payments share, last.
{{create_procedure}} payment
    @w_id INT, @d_id INT, @c_w_id INT, @c_d_id INT, @c_id INT, @c_last VARCHAR(16), @h_amount NUMERIC(6,2)
AS
BEGIN
    SET NOCOUNT ON
    SET XACT_ABORT ON
    DECLARE @before INT, @found INT, @paid DATETIME2(6)
    DECLARE @first VARCHAR(16), @middle CHAR(2), @last VARCHAR(16), @c_street_1 VARCHAR(20), @c_street_2 VARCHAR(20),
            @c_city VARCHAR(20), @c_state CHAR(2), @c_zip CHAR(9), @phone CHAR(16), @since DATETIME2(6), @credit CHAR(2),
            @credit_lim NUMERIC(12,2), @discount NUMERIC(4,4), @balance NUMERIC(12,2), @data VARCHAR(500)
    DECLARE @d_name VARCHAR(10), @d_street_1 VARCHAR(20), @d_street_2 VARCHAR(20), @d_city VARCHAR(20), @d_state CHAR(2),
            @d_zip CHAR(9)
    DECLARE @w_name VARCHAR(10), @w_street_1 VARCHAR(20), @w_street_2 VARCHAR(20), @w_city VARCHAR(20), @w_state CHAR(2),
            @w_zip CHAR(9)

    SET @paid = SYSDATETIME()
    BEGIN TRANSACTION
    IF @c_id IS NULL
    BEGIN
        SELECT @before = (COUNT(*) - 1) / 2 FROM customer
        WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_last = @c_last
        SELECT @c_id = c_id FROM customer
        WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_last = @c_last
        ORDER BY c_first, c_id OFFSET @before ROWS FETCH NEXT 1 ROWS ONLY
    END

    UPDATE customer
    SET {{changed(@balance, c_balance, c_balance - @h_amount)}},
        c_ytd_payment = c_ytd_payment + @h_amount,
        c_payment_cnt = c_payment_cnt + 1,
        {{changed(@data, c_data, CASE WHEN c_credit = 'BC'
            THEN LEFT(CONCAT(c_id, ' ', c_d_id, ' ', c_w_id, ' ', @d_id, ' ', @w_id, ' ', @h_amount, ' | ', c_data), 500)
            ELSE c_data END)}},
        @first = c_first, @middle = c_middle, @last = c_last, @c_street_1 = c_street_1, @c_street_2 = c_street_2,
        @c_city = c_city, @c_state = c_state, @c_zip = c_zip, @phone = c_phone, @since = c_since, @credit = c_credit,
        @credit_lim = c_credit_lim, @discount = c_discount
    WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @c_id
    SET @found = @@ROWCOUNT
    IF @found = 0
    BEGIN
        ROLLBACK TRANSACTION
        RAISERROR('there is no such customer', 16, 1)
        RETURN
    END

    UPDATE district
    SET d_ytd = d_ytd + @h_amount, @d_name = d_name, @d_street_1 = d_street_1, @d_street_2 = d_street_2,
        @d_city = d_city, @d_state = d_state, @d_zip = d_zip
    WHERE d_w_id = @w_id AND d_id = @d_id

    UPDATE warehouse
    SET w_ytd = w_ytd + @h_amount, @w_name = w_name, @w_street_1 = w_street_1, @w_street_2 = w_street_2,
        @w_city = w_city, @w_state = w_state, @w_zip = w_zip
    WHERE w_id = @w_id

    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (@c_id, @c_d_id, @c_w_id, @d_id, @w_id, @paid, @h_amount, CONCAT(@w_name, '    ', @d_name))
    COMMIT TRANSACTION
    SELECT @c_id AS c_id, @first AS c_first, @middle AS c_middle, @last AS c_last,
           @w_street_1 AS w_street_1, @w_street_2 AS w_street_2, @w_city AS w_city, @w_state AS w_state, @w_zip AS w_zip,
           @d_street_1 AS d_street_1, @d_street_2 AS d_street_2, @d_city AS d_city, @d_state AS d_state, @d_zip AS d_zip,
           @c_street_1 AS c_street_1, @c_street_2 AS c_street_2, @c_city AS c_city, @c_state AS c_state, @c_zip AS c_zip,
           @phone AS c_phone, @since AS c_since, @credit AS c_credit, @credit_lim AS c_credit_lim,
           @discount AS c_discount, @balance AS c_balance,
           CASE WHEN @credit = 'BC' THEN LEFT(@data, 200) END AS c_data, @paid AS h_date
END;

-- name: call_payment
EXEC payment :w_id, :d_id, :c_w_id, :c_d_id, :c_id, :c_last, :h_amount;

-- name: create_routine_order_status
-- TPC-C 2.6.2: a customer's balance and last order.
{{create_procedure}} order_status @w_id INT, @d_id INT, @c_id INT, @c_last VARCHAR(16)
AS
BEGIN
    SET NOCOUNT ON
    SET XACT_ABORT ON
    DECLARE @before INT, @o_id INT, @entered DATETIME2(6), @carrier_id SMALLINT

    BEGIN TRANSACTION
    IF @c_id IS NULL
    BEGIN
        SELECT @before = (COUNT(*) - 1) / 2 FROM customer
        WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_last = @c_last
        SELECT @c_id = c_id FROM customer
        WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_last = @c_last
        ORDER BY c_first, c_id OFFSET @before ROWS FETCH NEXT 1 ROWS ONLY
    END
    SELECT TOP (1) @o_id = o_id, @entered = o_entry_d, @carrier_id = o_carrier_id FROM orders
    WHERE o_w_id = @w_id AND o_d_id = @d_id AND o_c_id = @c_id ORDER BY o_id DESC
    SELECT c_id, c_first, c_middle, c_last, c_balance, @o_id AS o_id, @entered AS o_entry_d, @carrier_id AS o_carrier_id
    FROM customer WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id
    SELECT ol_number AS line, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
    WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id ORDER BY ol_number
    COMMIT TRANSACTION
END;

-- name: call_order_status
EXEC order_status :w_id, :d_id, :c_id, :c_last;

-- name: create_routine_delivery
-- TPC-C 2.7.4: the oldest undelivered order of each district. Deliveries of a warehouse are serialized before they read
-- the queues, so no order is skipped or delivered twice.
{{create_procedure}} delivery @w_id INT, @carrier_id SMALLINT
AS
BEGIN
    SET NOCOUNT ON
    SET XACT_ABORT ON
    DECLARE @delivered TABLE (line SMALLINT NOT NULL PRIMARY KEY, o_id INT NOT NULL)
    DECLARE @d_id SMALLINT, @o_id INT, @c_id INT, @amount NUMERIC(12,2), @now DATETIME2(6), @taken INT
    DECLARE @resource NVARCHAR(255)

    SET @now = SYSDATETIME()
    SET @resource = CONCAT('tproc_c delivery ', @w_id)
    BEGIN TRANSACTION
    EXEC @taken = sp_getapplock @Resource = @resource, @LockMode = 'Exclusive', @LockOwner = 'Transaction'
    IF @taken < 0
    BEGIN
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION
        RAISERROR('no lock on the deliveries of the warehouse (sp_getapplock: %d)', 16, 1, @taken)
        RETURN
    END
    SET @d_id = 1
    WHILE @d_id <= 10
    BEGIN
        SET @o_id = NULL
        SELECT TOP (1) @o_id = no_o_id FROM new_order WHERE no_w_id = @w_id AND no_d_id = @d_id ORDER BY no_o_id
        IF @o_id IS NOT NULL
        BEGIN
            DELETE FROM new_order WHERE no_w_id = @w_id AND no_d_id = @d_id AND no_o_id = @o_id
            UPDATE orders SET o_carrier_id = @carrier_id, @c_id = o_c_id
            WHERE o_w_id = @w_id AND o_d_id = @d_id AND o_id = @o_id
            UPDATE order_line SET ol_delivery_d = @now WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id
            SELECT @amount = SUM(ol_amount) FROM order_line
            WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id
            UPDATE customer SET c_balance = c_balance + @amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id
            INSERT INTO @delivered (line, o_id) VALUES (@d_id, @o_id)
        END
        SET @d_id = @d_id + 1
    END
    COMMIT TRANSACTION
    SELECT line, line AS d_id, o_id FROM @delivered ORDER BY line
END;

-- name: call_delivery
EXEC delivery :w_id, :o_carrier_id;

-- name: create_routine_stock_level
-- TPC-C 2.8.2: how many items of the district's last 20 orders are low in stock.
{{create_procedure}} stock_level @w_id INT, @d_id INT, @threshold INT
AS
BEGIN
    SET NOCOUNT ON
    DECLARE @next INT

    SELECT @next = d_next_o_id FROM district WHERE d_w_id = @w_id AND d_id = @d_id
    SELECT COUNT(DISTINCT s_i_id) AS low
    FROM order_line JOIN stock ON s_w_id = @w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id >= @next - 20 AND ol_o_id < @next AND s_quantity < @threshold
END;

-- name: call_stock_level
EXEC stock_level :w_id, :d_id, :threshold;

-- name: drop_routine_new_order
-- The type belongs to the natively compiled procedure (memory_optimized).
DROP PROCEDURE new_order;
DROP TYPE IF EXISTS order_lines;

-- name: drop_routine_payment
DROP PROCEDURE payment;

-- name: drop_routine_order_status
DROP PROCEDURE order_status;

-- name: drop_routine_delivery
DROP PROCEDURE delivery;
DROP TYPE IF EXISTS delivered_orders;

-- name: drop_routine_stock_level
DROP PROCEDURE stock_level;
