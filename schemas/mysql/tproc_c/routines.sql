-- The five transactions as procedures; each is a whole transaction that ends before it returns. On errors, the caller
-- rolls back.
--
-- Results are left in session variables, and a SELECT after the CALL returns them: a result set of the procedure
-- itself would be sent before the end of the CALL, in its own packet, and wake the client twice. The result is JSON
-- text, which the client decodes only on request, since each column costs time. "heading" is a list with a value or
-- an array for each field; "lines" has the fields of each line, and each field becomes an array. In "lines", MariaDB
-- treats a variable as text: + 0 makes it a number again.
--
-- All transactions lock rows in the same order, so that they never deadlock with each other: a payment's customer
-- before district and warehouse; an order's district before stock in the order of the lines, which callers sort by
-- (warehouse, item); a delivery's customers before lines. Other rows are read without locks, from one snapshot, by
-- SELECT ... INTO: with REPEATABLE READ, SET v = (SELECT ...) locks and reads the newest rows, for example an order whose
-- lines are not in the snapshot. Locks are on complete primary keys where possible, so that there are no gap locks.
--
-- There is no cursor and no JSON_TABLE: each fills a temporary table in each call.

-- name: create_routine_new_order
-- TPC-C 2.4.2. Lines are processed in their order. An unknown item causes a rollback after all other lines were
-- processed (error 30001).
--
-- Lines that all come from the home warehouse, in ascending order of their items, are processed together, with three
-- statements instead of three per line, and lock stock in the same order. Their items and quantities are parameters:
-- reading them from JSON costs more, and IN with known numbers reads single keys. INSERT reads stock alone, whose rows
-- are locked by then, since it locks what it reads; so it takes quantities and amounts from a text. Without GROUP BY,
-- MariaDB rejects the second call of a session (error 1140). All other orders, about a tenth, are processed line by
-- line.
--
-- A stock is from 10 to 100, so MOD(stock + 81 - quantity, 91) + 10 is stock - quantity, plus 91 if that is below 10.
CREATE PROCEDURE new_order(
    in_w_id INT, in_d_id INT, in_c_id INT, item_ids TEXT CHARACTER SET utf8mb4,
    supply_w_ids TEXT CHARACTER SET utf8mb4, quantities TEXT CHARACTER SET utf8mb4,
    i1 INT, i2 INT, i3 INT, i4 INT, i5 INT, i6 INT, i7 INT, i8 INT,
    i9 INT, i10 INT, i11 INT, i12 INT, i13 INT, i14 INT, i15 INT,
    q1 INT, q2 INT, q3 INT, q4 INT, q5 INT, q6 INT, q7 INT, q8 INT,
    q9 INT, q10 INT, q11 INT, q12 INT, q13 INT, q14 INT, q15 INT,
    OUT heading TEXT CHARACTER SET utf8mb4, OUT `lines` TEXT CHARACTER SET utf8mb4)
BEGIN
    DECLARE v_o_id, v_item, v_supply, v_quantity, v_stocked INT;
    DECLARE v_unordered INT DEFAULT 1;
    DECLARE v_amounts VARCHAR(195) CHARACTER SET utf8mb4;
    DECLARE v_count INT DEFAULT JSON_LENGTH(item_ids);
    DECLARE v_number INT DEFAULT 0;
    DECLARE v_place VARCHAR(8) CHARACTER SET utf8mb4;
    DECLARE v_local, v_valid INT DEFAULT 1;
    DECLARE v_found INT;
    DECLARE v_w_tax, v_d_tax, v_discount DECIMAL(4,4);
    DECLARE v_last VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE v_credit, v_brand CHAR(2) CHARACTER SET utf8mb4;
    DECLARE v_name VARCHAR(24) CHARACTER SET utf8mb4;
    DECLARE v_dist_info CHAR(24) CHARACTER SET utf8mb4;
    DECLARE v_price, v_amount DECIMAL(6,2);
    DECLARE v_total DECIMAL(12,2) DEFAULT 0;
    DECLARE v_entered DATETIME DEFAULT LOCALTIMESTAMP;
    DECLARE v_lines TEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_found = 0, v_valid = 0;

    START TRANSACTION;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w_id AND d_id = in_d_id;
    SELECT d_next_o_id - 1, w_tax, d_tax, c_discount, c_last, c_credit
    INTO v_o_id, v_w_tax, v_d_tax, v_discount, v_last, v_credit
    FROM district JOIN warehouse JOIN customer
    WHERE d_w_id = in_w_id AND d_id = in_d_id AND w_id = in_w_id
      AND c_w_id = in_w_id AND c_d_id = in_d_id AND c_id = in_c_id;

    IF v_count <= 15
       AND REPLACE(supply_w_ids, ' ', '') = CONCAT('[', in_w_id, REPEAT(CONCAT(',', in_w_id), v_count - 1), ']') THEN
        SET v_unordered = COALESCE(
            i2 <= i1 OR i3 <= i2 OR i4 <= i3 OR i5 <= i4 OR i6 <= i5 OR i7 <= i6 OR i8 <= i7
              OR i9 <= i8 OR i10 <= i9 OR i11 <= i10 OR i12 <= i11 OR i13 <= i12 OR i14 <= i13 OR i15 <= i14, 0);
    END IF;
    IF NOT v_unordered THEN
        UPDATE stock
        SET s_quantity = MOD(s_quantity + 81
                             - CASE s_i_id WHEN i1 THEN q1 WHEN i2 THEN q2 WHEN i3 THEN q3 WHEN i4 THEN q4
                                           WHEN i5 THEN q5 WHEN i6 THEN q6 WHEN i7 THEN q7 WHEN i8 THEN q8
                                           WHEN i9 THEN q9 WHEN i10 THEN q10 WHEN i11 THEN q11 WHEN i12 THEN q12
                                           WHEN i13 THEN q13 WHEN i14 THEN q14 WHEN i15 THEN q15
                                           END, 91) + 10,
            s_ytd = s_ytd
                    + CASE s_i_id WHEN i1 THEN q1 WHEN i2 THEN q2 WHEN i3 THEN q3 WHEN i4 THEN q4
                                  WHEN i5 THEN q5 WHEN i6 THEN q6 WHEN i7 THEN q7 WHEN i8 THEN q8
                                  WHEN i9 THEN q9 WHEN i10 THEN q10 WHEN i11 THEN q11 WHEN i12 THEN q12
                                  WHEN i13 THEN q13 WHEN i14 THEN q14 WHEN i15 THEN q15
                                  END,
            s_order_cnt = s_order_cnt + 1
        WHERE s_w_id = in_w_id AND s_i_id IN (i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, i12, i13, i14, i15);
        SELECT COUNT(*) = v_count, SUM(amount),
               GROUP_CONCAT(LPAD(quantity, 5, ' '), LPAD(amount, 8, ' ') SEPARATOR ''),
               CONCAT(',', GROUP_CONCAT('[', JSON_QUOTE(i_name), ',', s_quantity, ',"',
                                        IF(i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%', 'B', 'G'), '",',
                                        i_price, ',', amount, ']'))
        INTO v_valid, v_total, v_amounts, v_lines
        FROM (
            SELECT i_name, i_price, i_data, s_quantity, s_data, quantity, quantity * i_price AS amount
            FROM (
                SELECT s_i_id, s_quantity, s_data,
                       CASE s_i_id WHEN i1 THEN q1 WHEN i2 THEN q2 WHEN i3 THEN q3 WHEN i4 THEN q4
                                   WHEN i5 THEN q5 WHEN i6 THEN q6 WHEN i7 THEN q7 WHEN i8 THEN q8
                                   WHEN i9 THEN q9 WHEN i10 THEN q10 WHEN i11 THEN q11 WHEN i12 THEN q12
                                   WHEN i13 THEN q13 WHEN i14 THEN q14 WHEN i15 THEN q15
                                   END AS quantity
                FROM stock
                WHERE s_w_id = in_w_id
                  AND s_i_id IN (i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, i12, i13, i14, i15)
            ) AS stocked STRAIGHT_JOIN item ON i_id = s_i_id
        ) AS ordered
        GROUP BY in_w_id;
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
                                ol_amount, ol_dist_info)
        SELECT in_w_id, in_d_id, v_o_id, number, s_i_id, in_w_id, SUBSTRING(v_amounts, 13 * number - 12, 5),
               SUBSTRING(v_amounts, 13 * number - 7, 8), info
        FROM (
            SELECT s_i_id, FIELD(s_i_id, i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, i12, i13, i14, i15) AS number,
                   ELT(in_d_id, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                                s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10) AS info
            FROM stock
            WHERE s_w_id = in_w_id AND s_i_id IN (i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, i12, i13, i14, i15)
        ) AS stocked
        WHERE 13 * number <= CHAR_LENGTH(v_amounts);
        SET v_number = v_count;
    END IF;

    WHILE v_number < v_count DO
        SET v_place = CONCAT('$[', v_number, ']'), v_number = v_number + 1;
        SET v_item = JSON_EXTRACT(item_ids, v_place), v_supply = JSON_EXTRACT(supply_w_ids, v_place),
            v_quantity = JSON_EXTRACT(quantities, v_place);
        IF v_supply <> in_w_id THEN
            SET v_local = 0;
        END IF;
        UPDATE stock
        SET s_quantity = s_quantity - v_quantity + IF(s_quantity >= v_quantity + 10, 0, 91),
            s_ytd = s_ytd + v_quantity,
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + (v_supply <> in_w_id)
        WHERE s_w_id = v_supply AND s_i_id = v_item;
        SET v_found = 1;
        SELECT i_name, i_price, s_quantity, IF(i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%', 'B', 'G'),
               ELT(in_d_id, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                            s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10)
        INTO v_name, v_price, v_stocked, v_brand, v_dist_info
        FROM item JOIN stock
        WHERE i_id = v_item AND s_w_id = v_supply AND s_i_id = v_item;
        IF v_found THEN
            SET v_amount = v_quantity * v_price;
            SET v_total = v_total + v_amount;
            INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
                                    ol_amount, ol_dist_info)
            VALUES (in_w_id, in_d_id, v_o_id, v_number, v_item, v_supply, v_quantity, v_amount, v_dist_info);
            SET v_lines = CONCAT(v_lines, ',[', JSON_QUOTE(v_name), ',', v_stocked, ',"', v_brand, '",',
                                 v_price, ',', v_amount, ']');
        END IF;
    END WHILE;
    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (in_w_id, in_d_id, v_o_id, in_c_id, v_entered, v_count, v_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (in_w_id, in_d_id, v_o_id);
    IF NOT v_valid THEN
        SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001, MESSAGE_TEXT = 'item number is not valid';
    END IF;
    COMMIT;
    SET heading = JSON_ARRAY(v_o_id + 0, v_entered, v_w_tax + 0, v_d_tax + 0, v_discount + 0, v_last, v_credit,
                             ROUND(v_total * (1 - v_discount) * (1 + v_w_tax + v_d_tax), 2)),
        `lines` = CONCAT('[', SUBSTRING(v_lines, 2), ']');
END;

-- name: call_new_order
CALL new_order(:w_id, :d_id, :c_id, :item_ids, :supply_w_ids, :quantities, :item_ids[15], :quantities[15],
               @heading, @lines);
SELECT @heading AS heading, @lines AS `lines`;

-- name: create_routine_payment
-- TPC-C 2.5.2. By name: of the n customers ordered by first name the one at n/2, rounded up. The customer is locked
-- first and the warehouse, which all payments share, last.
CREATE PROCEDURE payment(
    in_w_id INT, in_d_id INT, in_c_w_id INT, in_c_d_id INT, in_c_id INT,
    in_c_last VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, in_amount DECIMAL(6,2),
    OUT heading TEXT CHARACTER SET utf8mb4)
BEGIN
    DECLARE v_w_name, v_d_name VARCHAR(10) CHARACTER SET utf8mb4;
    DECLARE v_before INT;

    START TRANSACTION;
    IF in_c_id IS NULL THEN
        SELECT (COUNT(*) - 1) DIV 2 INTO v_before FROM customer
        WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_last = in_c_last;
        IF v_before >= 0 THEN
            SELECT c_id INTO in_c_id FROM customer
            WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_last = in_c_last
            ORDER BY c_first, c_id LIMIT v_before, 1;
        END IF;
    END IF;
    UPDATE customer
    SET c_balance = c_balance - in_amount,
        c_ytd_payment = c_ytd_payment + in_amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = IF(c_credit = 'BC',
                    LEFT(CONCAT(CONCAT_WS(' ', in_c_id, in_c_d_id, in_c_w_id, in_d_id, in_w_id, in_amount),
                                ' | ', c_data), 500),
                    c_data)
    WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = in_c_id;
    IF ROW_COUNT() = 0 THEN
        SIGNAL SQLSTATE '02000' SET MESSAGE_TEXT = 'there is no such customer';
    END IF;
    SELECT JSON_ARRAY(
        c_id, c_first, c_middle, c_last, w_street_1, w_street_2, w_city, w_state, w_zip,
        d_street_1, d_street_2, d_city, d_state, d_zip, c_street_1, c_street_2, c_city, c_state, c_zip,
        c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance,
        IF(c_credit = 'BC', LEFT(c_data, 200), NULL), LOCALTIMESTAMP),
        w_name, d_name
    INTO heading, v_w_name, v_d_name
    FROM customer JOIN district JOIN warehouse
    WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = in_c_id
      AND d_w_id = in_w_id AND d_id = in_d_id AND w_id = in_w_id;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (in_c_id, in_c_d_id, in_c_w_id, in_d_id, in_w_id, LOCALTIMESTAMP, in_amount,
            CONCAT(v_w_name, '    ', v_d_name));
    UPDATE district SET d_ytd = d_ytd + in_amount WHERE d_w_id = in_w_id AND d_id = in_d_id;
    UPDATE warehouse SET w_ytd = w_ytd + in_amount WHERE w_id = in_w_id;
    COMMIT;
END;

-- name: call_payment
CALL payment(:w_id, :d_id, :c_w_id, :c_d_id, :c_id, :c_last, :h_amount, @heading);
SELECT @heading AS heading;

-- name: create_routine_order_status
-- TPC-C 2.6.2: a customer's balance and last order.
CREATE PROCEDURE order_status(
    in_w_id INT, in_d_id INT, in_c_id INT, in_c_last VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT heading TEXT CHARACTER SET utf8mb4, OUT `lines` TEXT CHARACTER SET utf8mb4)
BEGIN
    DECLARE v_before, v_o_id, v_carrier_id INT;
    DECLARE v_entered DATETIME;

    START TRANSACTION;
    IF in_c_id IS NULL THEN
        SELECT (COUNT(*) - 1) DIV 2 INTO v_before FROM customer
        WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_last = in_c_last;
        IF v_before >= 0 THEN
            SELECT c_id INTO in_c_id FROM customer
            WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_last = in_c_last
            ORDER BY c_first, c_id LIMIT v_before, 1;
        END IF;
    END IF;
    SELECT o_id, o_entry_d, o_carrier_id INTO v_o_id, v_entered, v_carrier_id FROM orders
    WHERE o_w_id = in_w_id AND o_d_id = in_d_id AND o_c_id = in_c_id
    ORDER BY o_id DESC LIMIT 1;
    SELECT JSON_ARRAY(c_id, c_first, c_middle, c_last, c_balance, v_o_id + 0, v_entered, v_carrier_id + 0) INTO heading
    FROM customer WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_id = in_c_id;
    SELECT CONCAT('[', GROUP_CONCAT(JSON_ARRAY(ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d)
                                    ORDER BY ol_number), ']')
    INTO `lines`
    FROM order_line WHERE ol_w_id = in_w_id AND ol_d_id = in_d_id AND ol_o_id = v_o_id;
    COMMIT;
END;

-- name: call_order_status
CALL order_status(:w_id, :d_id, :c_id, :c_last, @heading, @lines);
SELECT @heading AS heading, @lines AS `lines`;

-- name: create_routine_delivery
-- TPC-C 2.7.4: the oldest undelivered order of each district. Deliveries of a warehouse are serialized before they
-- read the queues, so no order is skipped or delivered twice: they lock the item with the warehouse's number, which
-- no other transaction locks. Lines are updated last, since their range lock may block new orders.
CREATE PROCEDURE delivery(in_w_id INT, in_carrier_id INT, OUT heading TEXT CHARACTER SET utf8mb4)
BEGIN
    DECLARE v_o_id, v_c_id, v_locked, v_place INT;
    DECLARE v_d_id INT DEFAULT 0;
    DECLARE v_districts, v_orders TEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE v_amount DECIMAL(12,2);

    START TRANSACTION;
    SELECT i_id INTO v_locked FROM item WHERE i_id = in_w_id FOR UPDATE;
    WHILE v_d_id < 10 DO
        SET v_d_id = v_d_id + 1;
        SELECT MIN(no_o_id) INTO v_o_id FROM new_order WHERE no_w_id = in_w_id AND no_d_id = v_d_id;
        IF v_o_id IS NOT NULL THEN
            SET v_districts = CONCAT(v_districts, ',', v_d_id), v_orders = CONCAT(v_orders, ',', v_o_id);
            DELETE FROM new_order WHERE no_w_id = in_w_id AND no_d_id = v_d_id AND no_o_id = v_o_id;
            UPDATE orders SET o_carrier_id = in_carrier_id
            WHERE o_w_id = in_w_id AND o_d_id = v_d_id AND o_id = v_o_id;
            SELECT o_c_id INTO v_c_id FROM orders WHERE o_w_id = in_w_id AND o_d_id = v_d_id AND o_id = v_o_id;
            SELECT SUM(ol_amount) INTO v_amount FROM order_line
            WHERE ol_w_id = in_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
            UPDATE customer SET c_balance = c_balance + v_amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = in_w_id AND c_d_id = v_d_id AND c_id = v_c_id;
        END IF;
    END WHILE;

    SET v_districts = CONCAT('[', SUBSTRING(v_districts, 2), ']'), v_orders = CONCAT('[', SUBSTRING(v_orders, 2), ']');
    SET v_place = JSON_LENGTH(v_orders);
    WHILE v_place > 0 DO
        SET v_place = v_place - 1;
        SET v_d_id = JSON_EXTRACT(v_districts, CONCAT('$[', v_place, ']'));
        SET v_o_id = JSON_EXTRACT(v_orders, CONCAT('$[', v_place, ']'));
        UPDATE order_line SET ol_delivery_d = LOCALTIMESTAMP
        WHERE ol_w_id = in_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
    END WHILE;
    COMMIT;
    SET heading = CONCAT('[', v_districts, ',', v_orders, ']');
END;

-- name: call_delivery
CALL delivery(:w_id, :o_carrier_id, @heading);
SELECT @heading AS heading;

-- name: create_routine_stock_level
-- TPC-C 2.8.2: how many items of the district's last 20 orders are low in stock.
CREATE PROCEDURE stock_level(in_w_id INT, in_d_id INT, in_threshold INT, OUT low INT)
BEGIN
    DECLARE v_next INT;

    START TRANSACTION;
    SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = in_w_id AND d_id = in_d_id;
    SELECT COUNT(DISTINCT s_i_id) INTO low
    FROM order_line JOIN stock ON s_w_id = in_w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = in_w_id AND ol_d_id = in_d_id AND ol_o_id >= v_next - 20 AND ol_o_id < v_next
      AND s_quantity < in_threshold;
    COMMIT;
END;

-- name: call_stock_level
CALL stock_level(:w_id, :d_id, :threshold, @low);
SELECT @low;

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
