-- The five transactions as SQL PL procedures; the caller commits. Rows are changed and read in one step by data-change
-- tables (FINAL TABLE, OLD TABLE).
--
-- A procedure returns the columns of its answer in one or more results. One whose first column is LINE has a row for each
-- line: its other columns are arrays of the answer. An array that is given is a text with ten characters for each element.
--
-- All transactions lock rows in the same order, so that they never deadlock with each other: stock by (warehouse, item),
-- a payment's customer before district and warehouse.

-- name: create_routine_new_order
-- TPC-C 2.4.2. A line with the unused item rolls the order back, and there is no answer.
CREATE OR REPLACE PROCEDURE new_order (
    IN in_w_id INTEGER, IN in_d_id INTEGER, IN in_c_id INTEGER, IN item_ids VARCHAR(150), IN supply_w_ids VARCHAR(150),
    IN quantities VARCHAR(150))
LANGUAGE SQL
MODIFIES SQL DATA
DYNAMIC RESULT SETS 2
BEGIN
    DECLARE line_count, order_number INTEGER;
    DECLARE is_local SMALLINT DEFAULT 1;
    DECLARE entered TIMESTAMP;
    DECLARE warehouse_tax, district_tax, discount DECIMAL(4,4);
    DECLARE last_name VARCHAR(16);
    DECLARE credit CHAR(2);
    DECLARE item_price DECIMAL(5,2);
    DECLARE dist_info CHAR(24);
    DECLARE total DECIMAL(12,2);
    DECLARE heading CURSOR WITH RETURN TO CLIENT FOR
        SELECT order_number AS o_id, entered AS o_entry_d, warehouse_tax AS w_tax, district_tax AS d_tax,
               discount AS c_discount, last_name AS c_last, credit AS c_credit, total AS total
        FROM SYSIBM.SYSDUMMY1;
    DECLARE details CURSOR WITH RETURN TO CLIENT FOR
        SELECT ol_number AS line, i_name, s_quantity,
               CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END AS brand, i_price,
               ol_amount
        FROM order_line
        JOIN item ON i_id = ol_i_id
        JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
        WHERE ol_w_id = in_w_id AND ol_d_id = in_d_id AND ol_o_id = order_number
        ORDER BY ol_number;

    SET line_count = LENGTH(item_ids) / 10;
    SET entered = CURRENT TIMESTAMP;
    SELECT w_tax, c_discount, c_last, c_credit INTO warehouse_tax, discount, last_name, credit
    FROM warehouse JOIN customer ON c_w_id = w_id
    WHERE w_id = in_w_id AND c_d_id = in_d_id AND c_id = in_c_id;
    SELECT d_next_o_id, d_tax INTO order_number, district_tax
    FROM OLD TABLE (UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w_id AND d_id = in_d_id);

    FOR one AS
        SELECT number,
               CASE WHEN number <= line_count THEN INTEGER(SUBSTR(item_ids, number * 10 - 9, 10)) END AS item_id,
               CASE WHEN number <= line_count THEN INTEGER(SUBSTR(supply_w_ids, number * 10 - 9, 10)) END AS supplier,
               CASE WHEN number <= line_count THEN INTEGER(SUBSTR(quantities, number * 10 - 9, 10)) END AS quantity
        FROM (VALUES 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) AS numbers (number)
        WHERE number <= line_count
        ORDER BY supplier, item_id, number
    DO
        SET item_price = NULL;
        SELECT i_price,
               CASE in_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                            WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                            WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
        INTO item_price, dist_info
        FROM item JOIN stock ON s_i_id = i_id
        WHERE i_id = one.item_id AND s_w_id = one.supplier;
        IF item_price IS NULL THEN
            ROLLBACK;
            RETURN;
        END IF;
        IF one.supplier <> in_w_id THEN
            SET is_local = 0;
        END IF;
        UPDATE stock
        SET s_quantity = s_quantity - one.quantity + CASE WHEN s_quantity >= one.quantity + 10 THEN 0 ELSE 91 END,
            s_ytd = s_ytd + one.quantity,
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN one.supplier = in_w_id THEN 0 ELSE 1 END
        WHERE s_w_id = one.supplier AND s_i_id = one.item_id;
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                                ol_dist_info)
        VALUES (in_w_id, in_d_id, order_number, one.number, one.item_id, one.supplier, one.quantity,
                one.quantity * item_price, dist_info);
    END FOR;

    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (in_w_id, in_d_id, order_number, in_c_id, entered, line_count, is_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (in_w_id, in_d_id, order_number);
    SELECT ROUND(SUM(ol_amount) * (1 - discount) * (1 + warehouse_tax + district_tax), 2) INTO total
    FROM order_line WHERE ol_w_id = in_w_id AND ol_d_id = in_d_id AND ol_o_id = order_number;
    OPEN heading;
    OPEN details;
END;

-- attempt: call_new_order
CALL new_order(:w_id, :d_id, :c_id, :item_ids, :supply_w_ids, :quantities);

-- name: create_routine_payment
-- TPC-C 2.5.2. By name: of the n customers ordered by first name the one at n/2, rounded up. The customer is locked
-- first and the warehouse, which all payments share, last.
CREATE OR REPLACE PROCEDURE payment (
    IN in_w_id INTEGER, IN in_d_id INTEGER, IN in_c_w_id INTEGER, IN in_c_d_id INTEGER, IN in_c_id INTEGER,
    IN in_c_last VARCHAR(16), IN in_h_amount DECIMAL(6,2))
LANGUAGE SQL
MODIFIES SQL DATA
DYNAMIC RESULT SETS 1
BEGIN
    DECLARE payer, middle INTEGER;
    DECLARE paid, since TIMESTAMP;
    DECLARE first_name, last_name VARCHAR(16);
    DECLARE middle, credit, c_state_, d_state_, w_state_ CHAR(2);
    DECLARE c_street_1_, c_street_2_, c_city_, d_street_1_, d_street_2_, d_city_ VARCHAR(20);
    DECLARE w_street_1_, w_street_2_, w_city_ VARCHAR(20);
    DECLARE c_zip_, d_zip_, w_zip_ CHAR(9);
    DECLARE phone CHAR(16);
    DECLARE credit_limit, balance DECIMAL(12,2);
    DECLARE discount DECIMAL(4,4);
    DECLARE shown VARCHAR(200);
    DECLARE d_name_, w_name_ VARCHAR(10);
    DECLARE answer CURSOR WITH RETURN TO CLIENT FOR
        SELECT payer AS c_id, first_name AS c_first, middle AS c_middle, last_name AS c_last,
               w_street_1_ AS w_street_1, w_street_2_ AS w_street_2, w_city_ AS w_city, w_state_ AS w_state,
               w_zip_ AS w_zip, d_street_1_ AS d_street_1, d_street_2_ AS d_street_2, d_city_ AS d_city,
               d_state_ AS d_state, d_zip_ AS d_zip, c_street_1_ AS c_street_1, c_street_2_ AS c_street_2,
               c_city_ AS c_city, c_state_ AS c_state, c_zip_ AS c_zip, phone AS c_phone, since AS c_since,
               credit AS c_credit, credit_limit AS c_credit_lim, discount AS c_discount, balance AS c_balance,
               shown AS c_data, paid AS h_date
        FROM SYSIBM.SYSDUMMY1;

    SET paid = CURRENT TIMESTAMP;
    SET payer = in_c_id;
    IF payer IS NULL THEN
        SELECT (COUNT(*) + 1) / 2 INTO middle FROM customer
        WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_last = in_c_last;
        SELECT c_id INTO payer
        FROM (SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_first, c_id) AS number FROM customer
              WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_last = in_c_last) AS named
        WHERE number = middle;
    END IF;

    SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
           c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN {{substring(c_data, 1, 200)}} END
    INTO first_name, middle, last_name, c_street_1_, c_street_2_, c_city_, c_state_, c_zip_, phone, since, credit,
         credit_limit, discount, balance, shown
    FROM FINAL TABLE (
        UPDATE customer
        SET c_balance = c_balance - in_h_amount,
            c_ytd_payment = c_ytd_payment + in_h_amount,
            c_payment_cnt = c_payment_cnt + 1,
            c_data = CASE c_credit
                         WHEN 'BC' THEN {{substring(VARCHAR(c_id) || ' ' || VARCHAR(c_d_id) || ' ' || VARCHAR(c_w_id) || ' '
                             || VARCHAR(in_d_id) || ' ' || VARCHAR(in_w_id) || ' ' || VARCHAR(in_h_amount) || ' | '
                             || c_data, 1, 500)}}
                         ELSE c_data
                     END
        WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = payer);
    IF last_name IS NULL THEN
        SIGNAL SQLSTATE '75002' SET MESSAGE_TEXT = 'there is no such customer';
    END IF;
    SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    INTO d_name_, d_street_1_, d_street_2_, d_city_, d_state_, d_zip_
    FROM FINAL TABLE (UPDATE district SET d_ytd = d_ytd + in_h_amount WHERE d_w_id = in_w_id AND d_id = in_d_id);
    SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    INTO w_name_, w_street_1_, w_street_2_, w_city_, w_state_, w_zip_
    FROM FINAL TABLE (UPDATE warehouse SET w_ytd = w_ytd + in_h_amount WHERE w_id = in_w_id);
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (payer, in_c_d_id, in_c_w_id, in_d_id, in_w_id, paid, in_h_amount, w_name_ || '    ' || d_name_);
    OPEN answer;
END;

-- name: call_payment
CALL payment(:w_id, :d_id, :c_w_id, :c_d_id, :c_id, :c_last, :h_amount);

-- name: create_routine_order_status
-- TPC-C 2.6.2: a customer's balance and last order.
CREATE OR REPLACE PROCEDURE order_status (
    IN in_w_id INTEGER, IN in_d_id INTEGER, IN in_c_id INTEGER, IN in_c_last VARCHAR(16))
LANGUAGE SQL
READS SQL DATA
DYNAMIC RESULT SETS 2
BEGIN
    DECLARE customer_number, middle, order_number INTEGER;
    DECLARE entered TIMESTAMP;
    DECLARE carrier SMALLINT;
    DECLARE heading CURSOR WITH RETURN TO CLIENT FOR
        SELECT c_id, c_first, c_middle, c_last, c_balance, order_number AS o_id, entered AS o_entry_d,
               carrier AS o_carrier_id
        FROM customer WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_id = customer_number;
    DECLARE details CURSOR WITH RETURN TO CLIENT FOR
        SELECT ol_number AS line, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = in_w_id AND ol_d_id = in_d_id AND ol_o_id = order_number
        ORDER BY ol_number;

    SET customer_number = in_c_id;
    IF customer_number IS NULL THEN
        SELECT (COUNT(*) + 1) / 2 INTO middle FROM customer
        WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_last = in_c_last;
        SELECT c_id INTO customer_number
        FROM (SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_first, c_id) AS number FROM customer
              WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_last = in_c_last) AS named
        WHERE number = middle;
    END IF;
    SELECT o_id, o_entry_d, o_carrier_id INTO order_number, entered, carrier FROM orders
    WHERE o_w_id = in_w_id AND o_d_id = in_d_id AND o_c_id = customer_number
    ORDER BY o_id DESC FETCH FIRST 1 ROWS ONLY;
    OPEN heading;
    OPEN details;
END;

-- name: call_order_status
CALL order_status(:w_id, :d_id, :c_id, :c_last);

-- name: create_routine_delivery
-- TPC-C 2.7.4: the oldest undelivered order of each district. Deliveries of a warehouse are serialized before they read
-- the queues, so no order is skipped or delivered twice.
CREATE OR REPLACE PROCEDURE delivery (IN in_w_id INTEGER, IN carrier SMALLINT)
LANGUAGE SQL
MODIFIES SQL DATA
DYNAMIC RESULT SETS 1
BEGIN
    DECLARE locked, district_number, order_number, receiver INTEGER;
    DECLARE amount DECIMAL(12,2);
    DECLARE delivered TIMESTAMP;
    DECLARE numbers VARCHAR(100) DEFAULT '';
    DECLARE answer CURSOR WITH RETURN TO CLIENT FOR
        SELECT number AS line, number AS d_id, INTEGER(SUBSTR(numbers, number * 10 - 9, 10)) AS o_id
        FROM (VALUES 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) AS districts (number)
        WHERE SUBSTR(numbers, number * 10 - 9, 10) <> ' '
        ORDER BY number;

    SET delivered = CURRENT TIMESTAMP;
    SELECT i_id INTO locked FROM item WHERE i_id = in_w_id WITH RS USE AND KEEP UPDATE LOCKS;
    IF locked IS NULL THEN
        SIGNAL SQLSTATE '75002' SET MESSAGE_TEXT = 'there is no item with the number of the warehouse';
    END IF;
    SET district_number = 1;
    WHILE district_number <= 10 DO
        SET order_number = NULL;
        SELECT no_o_id INTO order_number
        FROM OLD TABLE (
            DELETE FROM (SELECT no_o_id FROM new_order WHERE no_w_id = in_w_id AND no_d_id = district_number
                         ORDER BY no_o_id FETCH FIRST 1 ROWS ONLY) AS oldest);
        IF order_number IS NOT NULL THEN
            SELECT o_c_id INTO receiver
            FROM FINAL TABLE (UPDATE orders SET o_carrier_id = carrier
                              WHERE o_w_id = in_w_id AND o_d_id = district_number AND o_id = order_number);
            SELECT SUM(ol_amount) INTO amount
            FROM FINAL TABLE (UPDATE order_line SET ol_delivery_d = delivered
                              WHERE ol_w_id = in_w_id AND ol_d_id = district_number AND ol_o_id = order_number);
            UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = in_w_id AND c_d_id = district_number AND c_id = receiver;
        END IF;
        SET numbers = numbers || CHAR(COALESCE(VARCHAR(order_number), ''), 10);
        SET district_number = district_number + 1;
    END WHILE;
    OPEN answer;
END;

-- name: call_delivery
CALL delivery(:w_id, :o_carrier_id);

-- name: create_routine_stock_level
-- TPC-C 2.8.2: how many items of the district's last 20 orders are low in stock.
CREATE OR REPLACE PROCEDURE stock_level (IN in_w_id INTEGER, IN in_d_id INTEGER, IN threshold INTEGER)
LANGUAGE SQL
READS SQL DATA
DYNAMIC RESULT SETS 1
BEGIN
    DECLARE next_number INTEGER;
    DECLARE answer CURSOR WITH RETURN TO CLIENT FOR
        SELECT COUNT(DISTINCT s_i_id) AS low
        FROM order_line JOIN stock ON s_w_id = in_w_id AND s_i_id = ol_i_id
        WHERE ol_w_id = in_w_id AND ol_d_id = in_d_id AND ol_o_id >= next_number - 20 AND ol_o_id < next_number
          AND s_quantity < threshold;

    SELECT d_next_o_id INTO next_number FROM district WHERE d_w_id = in_w_id AND d_id = in_d_id;
    OPEN answer;
END;

-- name: call_stock_level
CALL stock_level(:w_id, :d_id, :threshold);

-- name: drop_routine_new_order
DROP PROCEDURE new_order;

-- name: drop_routine_payment
DROP PROCEDURE payment;

-- name: drop_routine_order_status
DROP PROCEDURE order_status;

-- name: drop_routine_delivery
DROP PROCEDURE delivery;

-- name: drop_routine_stock_level
DROP PROCEDURE stock_level;
