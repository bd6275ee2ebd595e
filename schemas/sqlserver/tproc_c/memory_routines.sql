-- variant: memory
-- The five transactions as natively compiled procedures, on memory-optimized tables. Each is one atomic block under
-- snapshot isolation: nobody waits, and who changes a row that another transaction has changed gets an error, after which
-- the operation is retried. So a row is read first and then changed.
--
-- Only what Microsoft documents for such procedures is used. There is no LIKE, so the brand is searched by SUBSTRING; no
-- OFFSET, so a customer is found by name in as many steps as are before; no inline table variable, so types are created.

-- name: create_routine_new_order
-- TPC-C 2.4.2. Elements of arrays have 10 characters each, and one between them. The unused item ends the procedure
-- with error 50001, which rolls the order back.
IF TYPE_ID('dbo.order_lines') IS NULL
    CREATE TYPE dbo.order_lines AS TABLE (
        line SMALLINT NOT NULL PRIMARY KEY NONCLUSTERED, i_name {{text(24)}} NOT NULL, s_quantity SMALLINT NOT NULL,
        brand {{char(1)}} NOT NULL, i_price NUMERIC(5,2) NOT NULL, amount NUMERIC(6,2) NOT NULL)
    WITH (MEMORY_OPTIMIZED = ON)
/
CREATE PROCEDURE dbo.new_order
    @w_id INT, @d_id INT, @c_id INT, @item_ids VARCHAR(400), @supply_w_ids VARCHAR(400), @quantities VARCHAR(400)
{{native_procedure}}
    DECLARE @lines dbo.order_lines
    DECLARE @line SMALLINT, @count SMALLINT, @at INT, @all_local SMALLINT, @item_id INT, @supply_w_id INT, @quantity SMALLINT
    DECLARE @o_id INT, @left SMALLINT, @entered DATETIME2(6), @amount NUMERIC(6,2), @total NUMERIC(12,2)
    DECLARE @w_tax NUMERIC(4,4), @d_tax NUMERIC(4,4), @discount NUMERIC(4,4), @last VARCHAR(16), @credit CHAR(2)
    DECLARE @name VARCHAR(24), @price NUMERIC(5,2), @i_data VARCHAR(50), @s_data VARCHAR(50), @dist_info CHAR(24)

    SET @entered = SYSDATETIME()
    SELECT @w_tax = w_tax FROM dbo.warehouse WHERE w_id = @w_id
    SELECT @discount = c_discount, @last = c_last, @credit = c_credit FROM dbo.customer
    WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id
    SELECT @o_id = d_next_o_id, @d_tax = d_tax FROM dbo.district WHERE d_w_id = @w_id AND d_id = @d_id
    UPDATE dbo.district SET d_next_o_id = @o_id + 1 WHERE d_w_id = @w_id AND d_id = @d_id

    SET @count = (LEN(@item_ids) - 1) / 11
    SET @all_local = 1
    SET @total = 0
    SET @line = 1
    WHILE @line <= @count
    BEGIN
        SET @at = 11 * @line - 9
        SET @item_id = CAST(SUBSTRING(@item_ids, @at, 10) AS INT)
        SET @supply_w_id = CAST(SUBSTRING(@supply_w_ids, @at, 10) AS INT)
        SET @quantity = CAST(SUBSTRING(@quantities, @at, 10) AS SMALLINT)
        IF @supply_w_id <> @w_id
            SET @all_local = 0
        SET @name = NULL
        SELECT @name = i_name, @price = i_price, @i_data = i_data FROM dbo.item WHERE i_id = @item_id
        IF @name IS NULL
            THROW 50001, 'item number is not valid', 1
        SELECT @left = s_quantity, @s_data = s_data,
               @dist_info = CASE @d_id
                   WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                   WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                   WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
        FROM dbo.stock WHERE s_w_id = @supply_w_id AND s_i_id = @item_id
        SET @left = @left - @quantity + CASE WHEN @left >= @quantity + 10 THEN 0 ELSE 91 END
        UPDATE dbo.stock
        SET s_quantity = @left, s_ytd = s_ytd + @quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN @supply_w_id = @w_id THEN 0 ELSE 1 END
        WHERE s_w_id = @supply_w_id AND s_i_id = @item_id
        SET @amount = @quantity * @price
        SET @total = @total + @amount
        INSERT INTO dbo.order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                                    ol_dist_info)
        VALUES (@w_id, @d_id, @o_id, @line, @item_id, @supply_w_id, @quantity, @amount, @dist_info)

        SET @at = LEN(@i_data) - 7
        WHILE @at > 0 AND SUBSTRING(@i_data, @at, 8) <> 'ORIGINAL'
            SET @at = @at - 1
        IF @at > 0
        BEGIN
            SET @at = LEN(@s_data) - 7
            WHILE @at > 0 AND SUBSTRING(@s_data, @at, 8) <> 'ORIGINAL'
                SET @at = @at - 1
        END
        INSERT INTO @lines (line, i_name, s_quantity, brand, i_price, amount)
        VALUES (@line, @name, @left, CASE WHEN @at > 0 THEN 'B' ELSE 'G' END, @price, @amount)
        SET @line = @line + 1
    END
    INSERT INTO dbo.orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (@w_id, @d_id, @o_id, @c_id, @entered, @count, @all_local)
    INSERT INTO dbo.new_order (no_w_id, no_d_id, no_o_id) VALUES (@w_id, @d_id, @o_id)
    SET @total = ROUND(@total * (1 - @discount) * (1 + @w_tax + @d_tax), 2)
    SELECT @o_id AS o_id, @entered AS o_entry_d, @w_tax AS w_tax, @d_tax AS d_tax, @discount AS c_discount,
           @last AS c_last, @credit AS c_credit, @total AS total
    SELECT line, i_name, s_quantity, brand, i_price, amount FROM @lines ORDER BY line
END;

-- name: create_routine_payment
-- TPC-C 2.5.2. By name: of the n customers ordered by first name the one at n/2, rounded up.
CREATE PROCEDURE dbo.payment
    @w_id INT, @d_id INT, @c_w_id INT, @c_d_id INT, @c_id INT, @c_last VARCHAR(16), @h_amount NUMERIC(6,2)
{{native_procedure}}
    DECLARE @steps INT, @next_id INT, @next_first VARCHAR(16), @paid DATETIME2(6)
    DECLARE @first VARCHAR(16), @middle CHAR(2), @last VARCHAR(16), @c_street_1 VARCHAR(20), @c_street_2 VARCHAR(20),
            @c_city VARCHAR(20), @c_state CHAR(2), @c_zip CHAR(9), @phone CHAR(16), @since DATETIME2(6), @credit CHAR(2),
            @credit_lim NUMERIC(12,2), @discount NUMERIC(4,4), @balance NUMERIC(12,2), @data VARCHAR(500)
    DECLARE @d_name VARCHAR(10), @d_street_1 VARCHAR(20), @d_street_2 VARCHAR(20), @d_city VARCHAR(20), @d_state CHAR(2),
            @d_zip CHAR(9)
    DECLARE @w_name VARCHAR(10), @w_street_1 VARCHAR(20), @w_street_2 VARCHAR(20), @w_city VARCHAR(20), @w_state CHAR(2),
            @w_zip CHAR(9)

    SET @paid = SYSDATETIME()
    IF @c_id IS NULL
    BEGIN
        SELECT @steps = (COUNT(*) + 1) / 2 FROM dbo.customer
        WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_last = @c_last
        SET @first = ''
        SET @c_id = 0
        WHILE @steps > 0
        BEGIN
            SELECT TOP (1) @next_first = c_first, @next_id = c_id FROM dbo.customer
            WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_last = @c_last
              AND (c_first > @first OR (c_first = @first AND c_id > @c_id))
            ORDER BY c_first, c_id
            SET @first = @next_first
            SET @c_id = @next_id
            SET @steps = @steps - 1
        END
    END

    SELECT @first = c_first, @middle = c_middle, @last = c_last, @c_street_1 = c_street_1, @c_street_2 = c_street_2,
           @c_city = c_city, @c_state = c_state, @c_zip = c_zip, @phone = c_phone, @since = c_since, @credit = c_credit,
           @credit_lim = c_credit_lim, @discount = c_discount, @balance = c_balance - @h_amount, @data = c_data
    FROM dbo.customer WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @c_id
    IF @last IS NULL
        THROW 50002, 'there is no such customer', 1
    IF @credit = 'BC'
        SET @data = SUBSTRING(CONCAT_WS(' ', @c_id, @c_d_id, @c_w_id, @d_id, @w_id, @h_amount, '|', @data), 1, 500)
    UPDATE dbo.customer
    SET c_balance = @balance, c_ytd_payment = c_ytd_payment + @h_amount, c_payment_cnt = c_payment_cnt + 1, c_data = @data
    WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @c_id

    SELECT @d_name = d_name, @d_street_1 = d_street_1, @d_street_2 = d_street_2, @d_city = d_city, @d_state = d_state,
           @d_zip = d_zip
    FROM dbo.district WHERE d_w_id = @w_id AND d_id = @d_id
    UPDATE dbo.district SET d_ytd = d_ytd + @h_amount WHERE d_w_id = @w_id AND d_id = @d_id
    SELECT @w_name = w_name, @w_street_1 = w_street_1, @w_street_2 = w_street_2, @w_city = w_city, @w_state = w_state,
           @w_zip = w_zip
    FROM dbo.warehouse WHERE w_id = @w_id
    UPDATE dbo.warehouse SET w_ytd = w_ytd + @h_amount WHERE w_id = @w_id

    INSERT INTO dbo.history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (@c_id, @c_d_id, @c_w_id, @d_id, @w_id, @paid, @h_amount, @w_name + '    ' + @d_name)
    SELECT @c_id AS c_id, @first AS c_first, @middle AS c_middle, @last AS c_last,
           @w_street_1 AS w_street_1, @w_street_2 AS w_street_2, @w_city AS w_city, @w_state AS w_state, @w_zip AS w_zip,
           @d_street_1 AS d_street_1, @d_street_2 AS d_street_2, @d_city AS d_city, @d_state AS d_state, @d_zip AS d_zip,
           @c_street_1 AS c_street_1, @c_street_2 AS c_street_2, @c_city AS c_city, @c_state AS c_state, @c_zip AS c_zip,
           @phone AS c_phone, @since AS c_since, @credit AS c_credit, @credit_lim AS c_credit_lim,
           @discount AS c_discount, @balance AS c_balance,
           CASE WHEN @credit = 'BC' THEN SUBSTRING(@data, 1, 200) END AS c_data, @paid AS h_date
END;

-- name: create_routine_order_status
-- TPC-C 2.6.2: a customer's balance and last order.
CREATE PROCEDURE dbo.order_status @w_id INT, @d_id INT, @c_id INT, @c_last VARCHAR(16)
{{native_procedure}}
    DECLARE @steps INT, @first VARCHAR(16), @next_id INT, @next_first VARCHAR(16)
    DECLARE @o_id INT, @entered DATETIME2(6), @carrier_id SMALLINT

    IF @c_id IS NULL
    BEGIN
        SELECT @steps = (COUNT(*) + 1) / 2 FROM dbo.customer
        WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_last = @c_last
        SET @first = ''
        SET @c_id = 0
        WHILE @steps > 0
        BEGIN
            SELECT TOP (1) @next_first = c_first, @next_id = c_id FROM dbo.customer
            WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_last = @c_last
              AND (c_first > @first OR (c_first = @first AND c_id > @c_id))
            ORDER BY c_first, c_id
            SET @first = @next_first
            SET @c_id = @next_id
            SET @steps = @steps - 1
        END
    END
    SELECT TOP (1) @o_id = o_id, @entered = o_entry_d, @carrier_id = o_carrier_id FROM dbo.orders
    WHERE o_w_id = @w_id AND o_d_id = @d_id AND o_c_id = @c_id ORDER BY o_id DESC
    SELECT c_id, c_first, c_middle, c_last, c_balance, @o_id AS o_id, @entered AS o_entry_d, @carrier_id AS o_carrier_id
    FROM dbo.customer WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id
    SELECT ol_number AS line, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM dbo.order_line
    WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id ORDER BY ol_number
END;

-- name: create_routine_delivery
-- TPC-C 2.7.4: the oldest undelivered order of each district. Of two deliveries that find the same order one gets an error.
IF TYPE_ID('dbo.delivered_orders') IS NULL
    CREATE TYPE dbo.delivered_orders AS TABLE (line SMALLINT NOT NULL PRIMARY KEY NONCLUSTERED, o_id INT NOT NULL)
    WITH (MEMORY_OPTIMIZED = ON)
/
CREATE PROCEDURE dbo.delivery @w_id INT, @carrier_id SMALLINT
{{native_procedure}}
    DECLARE @delivered dbo.delivered_orders
    DECLARE @d_id SMALLINT, @o_id INT, @c_id INT, @amount NUMERIC(12,2), @now DATETIME2(6)

    SET @now = SYSDATETIME()
    SET @d_id = 1
    WHILE @d_id <= 10
    BEGIN
        SET @o_id = NULL
        SELECT TOP (1) @o_id = no_o_id FROM dbo.new_order WHERE no_w_id = @w_id AND no_d_id = @d_id ORDER BY no_o_id
        IF @o_id IS NOT NULL
        BEGIN
            DELETE FROM dbo.new_order WHERE no_w_id = @w_id AND no_d_id = @d_id AND no_o_id = @o_id
            SELECT @c_id = o_c_id FROM dbo.orders WHERE o_w_id = @w_id AND o_d_id = @d_id AND o_id = @o_id
            UPDATE dbo.orders SET o_carrier_id = @carrier_id WHERE o_w_id = @w_id AND o_d_id = @d_id AND o_id = @o_id
            UPDATE dbo.order_line SET ol_delivery_d = @now WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id
            SELECT @amount = SUM(ol_amount) FROM dbo.order_line
            WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id
            UPDATE dbo.customer SET c_balance = c_balance + @amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id
            INSERT INTO @delivered (line, o_id) VALUES (@d_id, @o_id)
        END
        SET @d_id = @d_id + 1
    END
    SELECT line, line AS d_id, o_id FROM @delivered ORDER BY line
END;

-- name: create_routine_stock_level
-- TPC-C 2.8.2: how many items of the district's last 20 orders are low in stock.
CREATE PROCEDURE dbo.stock_level @w_id INT, @d_id INT, @threshold INT
{{native_procedure}}
    DECLARE @next INT

    SELECT @next = d_next_o_id FROM dbo.district WHERE d_w_id = @w_id AND d_id = @d_id
    SELECT COUNT(*) AS low FROM (
        SELECT DISTINCT s_i_id
        FROM dbo.order_line
        JOIN dbo.stock ON s_w_id = @w_id AND s_i_id = ol_i_id
        WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id >= @next - 20 AND ol_o_id < @next
          AND s_quantity < @threshold) AS items
END;
