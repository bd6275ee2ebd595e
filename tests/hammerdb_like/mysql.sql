-- What turns hdbkit's nine tables into such as HammerDB's procedures stand beside, and those procedures, written anew from
-- their documented signatures and habits: each begins and ends its transaction itself; the unused item, which one of 99
-- new orders meets, is answered by a rollback and no error; of stock only the quantity is kept, of a customer only
-- balance and data; a payment adds to the balance; a name's customer is fetched one row too far.
DROP TABLE build_spec, build_part;
DROP PROCEDURE new_order;
DROP PROCEDURE payment;
DROP PROCEDURE order_status;
DROP PROCEDURE delivery;
DROP PROCEDURE stock_level;
ALTER TABLE customer DROP INDEX customer_by_name, ADD INDEX c_w_id (c_w_id, c_d_id, c_last, c_first);
ALTER TABLE orders DROP INDEX orders_by_customer, ADD INDEX o_w_id (o_w_id, o_d_id, o_c_id, o_id);

CREATE PROCEDURE NEWORD(
    no_w_id INT, no_max_w_id INT, no_d_id INT, no_c_id INT, no_o_ol_cnt INT,
    OUT no_c_discount DECIMAL(4,4), OUT no_c_last VARCHAR(16), OUT no_c_credit VARCHAR(2), OUT no_d_tax DECIMAL(4,4),
    OUT no_w_tax DECIMAL(4,4), INOUT no_d_next_o_id INT, IN moment DATETIME)
BEGIN
    DECLARE line INT DEFAULT 1;
    DECLARE item_id, supply_w_id, quantity, stocked INT;
    DECLARE price, amount DECIMAL(8,2);
    DECLARE info CHAR(24);
    DECLARE unlucky INT DEFAULT FLOOR(1 + RAND() * 99);
    DECLARE EXIT HANDLER FOR SQLSTATE '23000' ROLLBACK;
    DECLARE EXIT HANDLER FOR NOT FOUND ROLLBACK;
    SELECT c_discount, c_last, c_credit, w_tax INTO no_c_discount, no_c_last, no_c_credit, no_w_tax
    FROM customer JOIN warehouse ON w_id = c_w_id WHERE c_w_id = no_w_id AND c_d_id = no_d_id AND c_id = no_c_id;
    START TRANSACTION;
    SELECT d_next_o_id, d_tax INTO no_d_next_o_id, no_d_tax FROM district
    WHERE d_w_id = no_w_id AND d_id = no_d_id FOR UPDATE;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = no_w_id AND d_id = no_d_id;
    WHILE line <= no_o_ol_cnt DO
        SET item_id = IF(unlucky = 1 AND line = no_o_ol_cnt, 100001, FLOOR(1 + RAND() * 100000));
        SET supply_w_id = IF(RAND() < 0.01, FLOOR(1 + RAND() * no_max_w_id), no_w_id);
        SET quantity = FLOOR(1 + RAND() * 10);
        SELECT i_price INTO price FROM item WHERE i_id = item_id;
        SELECT s_quantity, s_dist_01 INTO stocked, info FROM stock WHERE s_w_id = supply_w_id AND s_i_id = item_id;
        UPDATE stock SET s_quantity = stocked - quantity + IF(stocked > quantity, 0, 91)
        WHERE s_w_id = supply_w_id AND s_i_id = item_id;
        SET amount = quantity * price * (1 + no_w_tax + no_d_tax) * (1 - no_c_discount);
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                                ol_dist_info)
        VALUES (no_d_next_o_id, no_d_id, no_w_id, line, item_id, supply_w_id, quantity, amount, info);
        SET line = line + 1;
    END WHILE;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (no_d_next_o_id, no_d_id, no_w_id, no_c_id, moment, no_o_ol_cnt, 1);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (no_d_next_o_id, no_d_id, no_w_id);
    COMMIT;
END;

CREATE PROCEDURE PAYMENT(
    p_w_id INT, p_d_id INT, p_c_w_id INT, p_c_d_id INT, INOUT p_c_id INT, byname INT, p_h_amount DECIMAL(6,2),
    INOUT p_c_last VARCHAR(16), OUT p_w_street_1 VARCHAR(20), OUT p_w_street_2 VARCHAR(20), OUT p_w_city VARCHAR(20),
    OUT p_w_state CHAR(2), OUT p_w_zip CHAR(9), OUT p_d_street_1 VARCHAR(20), OUT p_d_street_2 VARCHAR(20),
    OUT p_d_city VARCHAR(20), OUT p_d_state CHAR(2), OUT p_d_zip CHAR(9), OUT p_c_first VARCHAR(16),
    OUT p_c_middle CHAR(2), OUT p_c_street_1 VARCHAR(20), OUT p_c_street_2 VARCHAR(20), OUT p_c_city VARCHAR(20),
    OUT p_c_state CHAR(2), OUT p_c_zip CHAR(9), OUT p_c_phone CHAR(16), OUT p_c_since DATETIME,
    INOUT p_c_credit CHAR(2), OUT p_c_credit_lim DECIMAL(12,2), OUT p_c_discount DECIMAL(4,4),
    INOUT p_c_balance DECIMAL(12,2), OUT p_c_data VARCHAR(500), IN moment DATETIME)
BEGIN
    DECLARE fetched INT DEFAULT 0;
    DECLARE named INT;
    DECLARE place VARCHAR(24);
    DECLARE of_name CURSOR FOR
        SELECT c_id, c_first, c_middle, c_credit, c_credit_lim, c_discount, c_balance, c_since FROM customer
        WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last ORDER BY c_first;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET named = 0;
    DECLARE EXIT HANDLER FOR SQLSTATE '23000' ROLLBACK;
    START TRANSACTION;
    UPDATE warehouse SET w_ytd = w_ytd + p_h_amount WHERE w_id = p_w_id;
    SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name
    INTO p_w_street_1, p_w_street_2, p_w_city, p_w_state, p_w_zip, place FROM warehouse WHERE w_id = p_w_id;
    UPDATE district SET d_ytd = d_ytd + p_h_amount WHERE d_w_id = p_w_id AND d_id = p_d_id;
    SELECT d_street_1, d_street_2, d_city, d_state, d_zip
    INTO p_d_street_1, p_d_street_2, p_d_city, p_d_state, p_d_zip FROM district WHERE d_w_id = p_w_id AND d_id = p_d_id;
    IF byname = 1 THEN
        SELECT COUNT(*) INTO named FROM customer WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last;
        OPEN of_name;
        WHILE fetched <= named / 2 DO
            FETCH of_name INTO p_c_id, p_c_first, p_c_middle, p_c_credit, p_c_credit_lim, p_c_discount, p_c_balance,
                               p_c_since;
            SET fetched = fetched + 1;
        END WHILE;
        CLOSE of_name;
    ELSE
        SELECT c_last, c_first, c_middle, c_credit, c_credit_lim, c_discount, c_balance, c_since
        INTO p_c_last, p_c_first, p_c_middle, p_c_credit, p_c_credit_lim, p_c_discount, p_c_balance, p_c_since
        FROM customer WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = p_c_id;
    END IF;
    UPDATE customer SET c_balance = p_c_balance + p_h_amount,
                        c_data = IF(c_credit = 'BC', LEFT(CONCAT_WS(' ', p_c_id, p_h_amount, moment, c_data), 500), c_data)
    WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = p_c_id;
    INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (p_c_d_id, p_c_w_id, p_c_id, p_d_id, p_w_id, moment, p_h_amount, place);
    COMMIT;
END;

CREATE PROCEDURE DELIVERY(d_w_id INT, d_o_carrier_id INT, IN moment DATETIME)
BEGIN
    DECLARE district_id INT DEFAULT 1;
    DECLARE order_id, customer_id INT;
    DECLARE total DECIMAL(12,2);
    DECLARE EXIT HANDLER FOR SQLSTATE '23000' ROLLBACK;
    WHILE district_id <= 10 DO
        SELECT no_o_id INTO order_id FROM new_order WHERE no_w_id = d_w_id AND no_d_id = district_id LIMIT 1;
        DELETE FROM new_order WHERE no_w_id = d_w_id AND no_d_id = district_id AND no_o_id = order_id;
        SELECT o_c_id INTO customer_id FROM orders WHERE o_w_id = d_w_id AND o_d_id = district_id AND o_id = order_id;
        UPDATE orders SET o_carrier_id = d_o_carrier_id
        WHERE o_w_id = d_w_id AND o_d_id = district_id AND o_id = order_id;
        UPDATE order_line SET ol_delivery_d = moment
        WHERE ol_w_id = d_w_id AND ol_d_id = district_id AND ol_o_id = order_id;
        SELECT SUM(ol_amount) INTO total FROM order_line
        WHERE ol_w_id = d_w_id AND ol_d_id = district_id AND ol_o_id = order_id;
        UPDATE customer SET c_balance = c_balance + total
        WHERE c_w_id = d_w_id AND c_d_id = district_id AND c_id = customer_id;
        COMMIT;
        SET district_id = district_id + 1;
    END WHILE;
END;

CREATE PROCEDURE OSTAT(
    os_w_id INT, os_d_id INT, INOUT os_c_id INT, byname INT, INOUT os_c_last VARCHAR(16), OUT os_c_first VARCHAR(16),
    OUT os_c_middle CHAR(2), OUT os_c_balance DECIMAL(12,2), OUT os_o_id INT, OUT os_entdate DATETIME,
    OUT os_o_carrier_id INT)
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET os_o_carrier_id = 0;
    START TRANSACTION;
    SELECT c_id, c_last, c_first, c_middle, c_balance INTO os_c_id, os_c_last, os_c_first, os_c_middle, os_c_balance
    FROM customer WHERE c_w_id = os_w_id AND c_d_id = os_d_id AND IF(byname = 1, c_last = os_c_last, c_id = os_c_id)
    ORDER BY c_first LIMIT 1;
    SELECT o_id, o_carrier_id, o_entry_d INTO os_o_id, os_o_carrier_id, os_entdate FROM orders
    WHERE o_w_id = os_w_id AND o_d_id = os_d_id AND o_c_id = os_c_id ORDER BY o_id DESC LIMIT 1;
    COMMIT;
END;

CREATE PROCEDURE SLEV(st_w_id INT, st_d_id INT, threshold INT, OUT stock_count INT)
BEGIN
    DECLARE next_id INT;
    DECLARE EXIT HANDLER FOR NOT FOUND ROLLBACK;
    START TRANSACTION;
    SELECT d_next_o_id INTO next_id FROM district WHERE d_w_id = st_w_id AND d_id = st_d_id;
    SELECT COUNT(DISTINCT s_i_id) INTO stock_count FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = st_w_id AND ol_d_id = st_d_id AND ol_o_id < next_id AND ol_o_id >= next_id - 20
      AND s_quantity < threshold;
    COMMIT;
END;
