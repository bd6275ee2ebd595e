-- The five transactions as PL/SQL, each in a package with its types: tables and packages share their names in a schema,
-- so the package of new_order is new_order_routine. A line with a slash alone ends a command.
--
-- A call is one round trip: an anonymous block whose OUT values are bound. The routines do not commit; the driver
-- commits in the same round trip (autocommit). An array is an associative array, numbered from 1.
--
-- All transactions lock rows in the same order, so that they never deadlock with each other: a payment's customer
-- before district and warehouse; an order's district before stock by (warehouse, item); deliveries of a warehouse are
-- serialized by the row of the item with the warehouse's number. Other rows are read without locks.

-- name: create_routine_new_order
-- TPC-C 2.4.2, up to 15 lines. One query reads the items, one FORALL changes the stock and returns what is left, one
-- inserts the lines. An unknown item causes an error after the work on the others
-- (ORA-20001), on which the session rolls back.
CREATE OR REPLACE PACKAGE new_order_routine AS
    TYPE numbers IS TABLE OF NUMBER INDEX BY PLS_INTEGER;
    TYPE texts IS TABLE OF VARCHAR2(200) INDEX BY PLS_INTEGER;
    PROCEDURE perform(
        in_w_id IN NUMBER, in_d_id IN NUMBER, in_c_id IN NUMBER,
        item_ids IN numbers, supply_w_ids IN numbers, quantities IN numbers,
        out_o_id OUT NUMBER, out_entered OUT DATE, out_w_tax OUT NUMBER, out_d_tax OUT NUMBER,
        out_discount OUT NUMBER, out_last OUT VARCHAR2, out_credit OUT VARCHAR2, out_total OUT NUMBER,
        out_names OUT texts, out_left OUT numbers, out_brands OUT texts, out_prices OUT numbers,
        out_amounts OUT numbers);
END new_order_routine;
/
CREATE OR REPLACE PACKAGE BODY new_order_routine AS
    PROCEDURE perform(
        in_w_id IN NUMBER, in_d_id IN NUMBER, in_c_id IN NUMBER,
        item_ids IN numbers, supply_w_ids IN numbers, quantities IN numbers,
        out_o_id OUT NUMBER, out_entered OUT DATE, out_w_tax OUT NUMBER, out_d_tax OUT NUMBER,
        out_discount OUT NUMBER, out_last OUT VARCHAR2, out_credit OUT VARCHAR2, out_total OUT NUMBER,
        out_names OUT texts, out_left OUT numbers, out_brands OUT texts, out_prices OUT numbers,
        out_amounts OUT numbers)
    IS
        wanted numbers;
        found_ids numbers;
        found_names texts;
        found_prices numbers;
        found_datas texts;
        at_item numbers;
        line_numbers numbers;
        stock_w_ids numbers;
        stock_i_ids numbers;
        taken numbers;
        remote numbers;
        left_over numbers;
        stock_datas texts;
        dist_infos texts;
        amounts numbers;
        known PLS_INTEGER := 0;
        slot PLS_INTEGER;
        found PLS_INTEGER;
        all_local NUMBER := 1;
        total NUMBER := 0;
        v_o_id NUMBER;
        v_entered DATE := SYSDATE;
    BEGIN
        SELECT c_discount, c_last, c_credit, w_tax
        INTO out_discount, out_last, out_credit, out_w_tax
        FROM warehouse
        JOIN customer ON c_w_id = w_id
        WHERE w_id = in_w_id AND c_d_id = in_d_id AND c_id = in_c_id;

        UPDATE district SET d_next_o_id = d_next_o_id + 1
        WHERE d_w_id = in_w_id AND d_id = in_d_id
        RETURNING d_next_o_id - 1, d_tax INTO v_o_id, out_d_tax;

        FOR line IN 1 .. 15 LOOP
            wanted(line) := CASE WHEN line <= item_ids.COUNT THEN item_ids(line) END;
        END LOOP;
        SELECT i_id, i_name, i_price, i_data
        BULK COLLECT INTO found_ids, found_names, found_prices, found_datas
        FROM item
        WHERE i_id IN (wanted(1), wanted(2), wanted(3), wanted(4), wanted(5), wanted(6), wanted(7), wanted(8),
                       wanted(9), wanted(10), wanted(11), wanted(12), wanted(13), wanted(14), wanted(15));
        FOR i IN 1 .. found_ids.COUNT LOOP
            at_item(found_ids(i)) := i;
        END LOOP;

        -- the lines with known items, by (warehouse, item)
        FOR line IN 1 .. item_ids.COUNT LOOP
            IF supply_w_ids(line) <> in_w_id THEN
                all_local := 0;
            END IF;
            IF at_item.EXISTS(item_ids(line)) THEN
                known := known + 1;
                slot := known;
                WHILE slot > 1 LOOP
                    EXIT WHEN stock_w_ids(slot - 1) < supply_w_ids(line);
                    EXIT WHEN stock_w_ids(slot - 1) = supply_w_ids(line) AND stock_i_ids(slot - 1) <= item_ids(line);
                    line_numbers(slot) := line_numbers(slot - 1);
                    stock_w_ids(slot) := stock_w_ids(slot - 1);
                    stock_i_ids(slot) := stock_i_ids(slot - 1);
                    slot := slot - 1;
                END LOOP;
                line_numbers(slot) := line;
                stock_w_ids(slot) := supply_w_ids(line);
                stock_i_ids(slot) := item_ids(line);
            END IF;
        END LOOP;
        FOR i IN 1 .. known LOOP
            taken(i) := quantities(line_numbers(i));
            remote(i) := CASE WHEN stock_w_ids(i) = in_w_id THEN 0 ELSE 1 END;
        END LOOP;

        FORALL i IN 1 .. known
            UPDATE stock
            SET s_quantity = s_quantity - taken(i)
                           + CASE WHEN s_quantity >= taken(i) + 10 THEN 0 ELSE 91 END,
                s_ytd = s_ytd + taken(i),
                s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + remote(i)
            WHERE s_w_id = stock_w_ids(i) AND s_i_id = stock_i_ids(i)
            RETURNING s_quantity, s_data,
                      DECODE(in_d_id, 1, s_dist_01, 2, s_dist_02, 3, s_dist_03, 4, s_dist_04, 5, s_dist_05,
                                      6, s_dist_06, 7, s_dist_07, 8, s_dist_08, 9, s_dist_09, s_dist_10)
            BULK COLLECT INTO left_over, stock_datas, dist_infos;
        IF left_over.COUNT <> known THEN
            RAISE NO_DATA_FOUND;
        END IF;

        FOR i IN 1 .. known LOOP
            slot := line_numbers(i);
            found := at_item(stock_i_ids(i));
            amounts(i) := taken(i) * found_prices(found);
            total := total + amounts(i);
            out_names(slot) := found_names(found);
            out_prices(slot) := found_prices(found);
            out_left(slot) := left_over(i);
            out_amounts(slot) := amounts(i);
            IF INSTR(found_datas(found), 'ORIGINAL') > 0 AND INSTR(stock_datas(i), 'ORIGINAL') > 0 THEN
                out_brands(slot) := 'B';
            ELSE
                out_brands(slot) := 'G';
            END IF;
        END LOOP;

        FORALL i IN 1 .. known
            INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
                                    ol_amount, ol_dist_info)
            VALUES (in_w_id, in_d_id, v_o_id, line_numbers(i), stock_i_ids(i), stock_w_ids(i),
                    taken(i), amounts(i), dist_infos(i));
        INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        VALUES (in_w_id, in_d_id, v_o_id, in_c_id, v_entered, item_ids.COUNT, all_local);
        INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (in_w_id, in_d_id, v_o_id);

        IF known < item_ids.COUNT THEN
            RAISE_APPLICATION_ERROR(-20001, 'item number is not valid');
        END IF;
        out_o_id := v_o_id;
        out_entered := v_entered;
        out_total := ROUND(total * (1 - out_discount) * (1 + out_w_tax + out_d_tax), 2);
    EXCEPTION
        WHEN NO_DATA_FOUND THEN
            RAISE_APPLICATION_ERROR(-20002, 'there is no such warehouse, district, customer or stock');
    END perform;
END new_order_routine;
/

-- name: call_new_order
-- parameters: w_id, d_id, c_id, item_ids, supply_w_ids, quantities
-- returns: o_id(integer), o_entry_d(timestamp), w_tax(decimal.4), d_tax(decimal.4), c_discount(decimal.4), c_last(text)
-- returns: c_credit(text), total(decimal.2), i_names(text[]), left_over(integer[]), brands(text[]), prices(decimal.2[])
-- returns: amounts(decimal.2[])
BEGIN
    new_order_routine.perform(
        :w_id, :d_id, :c_id, :item_ids, :supply_w_ids, :quantities,
        :o_id, :o_entry_d, :w_tax, :d_tax, :c_discount, :c_last, :c_credit, :total,
        :i_names, :left_over, :brands, :prices, :amounts);
END;
/

-- name: create_routine_payment
-- TPC-C 2.5.2. By name: of the n customers ordered by first name the one at n/2, rounded up. The customer is locked
-- first and the warehouse, which all payments share, last.
CREATE OR REPLACE PACKAGE payment_routine AS
    PROCEDURE perform(
        in_w_id IN NUMBER, in_d_id IN NUMBER, in_c_w_id IN NUMBER, in_c_d_id IN NUMBER, in_c_id IN NUMBER,
        in_c_last IN VARCHAR2, in_amount IN NUMBER,
        out_c_id OUT NUMBER, out_first OUT VARCHAR2, out_middle OUT VARCHAR2, out_last OUT VARCHAR2,
        out_w_street_1 OUT VARCHAR2, out_w_street_2 OUT VARCHAR2, out_w_city OUT VARCHAR2, out_w_state OUT VARCHAR2,
        out_w_zip OUT VARCHAR2,
        out_d_street_1 OUT VARCHAR2, out_d_street_2 OUT VARCHAR2, out_d_city OUT VARCHAR2, out_d_state OUT VARCHAR2,
        out_d_zip OUT VARCHAR2,
        out_c_street_1 OUT VARCHAR2, out_c_street_2 OUT VARCHAR2, out_c_city OUT VARCHAR2, out_c_state OUT VARCHAR2,
        out_c_zip OUT VARCHAR2, out_phone OUT VARCHAR2, out_since OUT DATE, out_credit OUT VARCHAR2,
        out_credit_lim OUT NUMBER, out_discount OUT NUMBER, out_balance OUT NUMBER, out_data OUT VARCHAR2,
        out_paid OUT DATE);
END payment_routine;
/
CREATE OR REPLACE PACKAGE BODY payment_routine AS
    TYPE numbers IS TABLE OF NUMBER INDEX BY PLS_INTEGER;
    PROCEDURE perform(
        in_w_id IN NUMBER, in_d_id IN NUMBER, in_c_w_id IN NUMBER, in_c_d_id IN NUMBER, in_c_id IN NUMBER,
        in_c_last IN VARCHAR2, in_amount IN NUMBER,
        out_c_id OUT NUMBER, out_first OUT VARCHAR2, out_middle OUT VARCHAR2, out_last OUT VARCHAR2,
        out_w_street_1 OUT VARCHAR2, out_w_street_2 OUT VARCHAR2, out_w_city OUT VARCHAR2, out_w_state OUT VARCHAR2,
        out_w_zip OUT VARCHAR2,
        out_d_street_1 OUT VARCHAR2, out_d_street_2 OUT VARCHAR2, out_d_city OUT VARCHAR2, out_d_state OUT VARCHAR2,
        out_d_zip OUT VARCHAR2,
        out_c_street_1 OUT VARCHAR2, out_c_street_2 OUT VARCHAR2, out_c_city OUT VARCHAR2, out_c_state OUT VARCHAR2,
        out_c_zip OUT VARCHAR2, out_phone OUT VARCHAR2, out_since OUT DATE, out_credit OUT VARCHAR2,
        out_credit_lim OUT NUMBER, out_discount OUT NUMBER, out_balance OUT NUMBER, out_data OUT VARCHAR2,
        out_paid OUT DATE)
    IS
        named numbers;
        payer_id NUMBER := in_c_id;
        note VARCHAR2(200);
        v_w_name VARCHAR2(40);
        v_d_name VARCHAR2(40);
        v_paid DATE := SYSDATE;
    BEGIN
        IF payer_id IS NULL THEN
            SELECT c_id BULK COLLECT INTO named
            FROM customer
            WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_last = in_c_last
            ORDER BY c_first, c_id;
            payer_id := named(TRUNC((named.COUNT + 1) / 2));
        END IF;
        note := payer_id || ' ' || in_c_d_id || ' ' || in_c_w_id || ' ' || in_d_id || ' ' || in_w_id || ' '
                || TO_CHAR(in_amount, 'FM9999990.00') || ' | ';

        UPDATE customer
        SET c_balance = c_balance - in_amount,
            c_ytd_payment = c_ytd_payment + in_amount,
            c_payment_cnt = c_payment_cnt + 1,
            c_data = CASE WHEN c_credit = 'BC' THEN SUBSTR(note || c_data, 1, 500) ELSE c_data END
        WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = payer_id
        RETURNING c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
                  c_credit, c_credit_lim, c_discount, c_balance,
                  DECODE(c_credit, 'BC', SUBSTR(c_data, 1, 200))
        INTO out_c_id, out_first, out_middle, out_last, out_c_street_1, out_c_street_2, out_c_city, out_c_state,
             out_c_zip, out_phone, out_since, out_credit, out_credit_lim, out_discount, out_balance, out_data;
        IF SQL%ROWCOUNT = 0 THEN
            RAISE NO_DATA_FOUND;
        END IF;

        UPDATE district SET d_ytd = d_ytd + in_amount
        WHERE d_w_id = in_w_id AND d_id = in_d_id
        RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip
        INTO v_d_name, out_d_street_1, out_d_street_2, out_d_city, out_d_state, out_d_zip;
        UPDATE warehouse SET w_ytd = w_ytd + in_amount
        WHERE w_id = in_w_id
        RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip
        INTO v_w_name, out_w_street_1, out_w_street_2, out_w_city, out_w_state, out_w_zip;

        INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data{{history_column}})
        VALUES (payer_id, in_c_d_id, in_c_w_id, in_d_id, in_w_id, v_paid, in_amount,
                v_w_name || '    ' || v_d_name{{history_value}});
        out_paid := v_paid;
    EXCEPTION
        WHEN NO_DATA_FOUND THEN
            RAISE_APPLICATION_ERROR(-20002, 'there is no such customer');
    END perform;
END payment_routine;
/

-- name: call_payment
-- parameters: w_id, d_id, c_w_id, c_d_id, c_id, c_last, h_amount
-- returns: payer_id(integer), c_first(text), c_middle(text), payer_last(text), w_street_1(text), w_street_2(text)
-- returns: w_city(text), w_state(text), w_zip(text), d_street_1(text), d_street_2(text), d_city(text), d_state(text)
-- returns: d_zip(text), c_street_1(text), c_street_2(text), c_city(text), c_state(text), c_zip(text), c_phone(text)
-- returns: c_since(timestamp), c_credit(text), c_credit_lim(decimal.2), c_discount(decimal.4), c_balance(decimal.2)
-- returns: c_data(text), h_date(timestamp)
BEGIN
    payment_routine.perform(
        :w_id, :d_id, :c_w_id, :c_d_id, :c_id, :c_last, :h_amount,
        :payer_id, :c_first, :c_middle, :payer_last, :w_street_1, :w_street_2, :w_city, :w_state, :w_zip,
        :d_street_1, :d_street_2, :d_city, :d_state, :d_zip, :c_street_1, :c_street_2, :c_city, :c_state, :c_zip,
        :c_phone, :c_since, :c_credit, :c_credit_lim, :c_discount, :c_balance, :c_data, :h_date);
END;
/

-- name: create_routine_order_status
-- TPC-C 2.6.2: a customer's balance and last order. One query reads the order with its lines, so that they belong
-- together.
CREATE OR REPLACE PACKAGE order_status_routine AS
    TYPE numbers IS TABLE OF NUMBER INDEX BY PLS_INTEGER;
    TYPE dates IS TABLE OF DATE INDEX BY PLS_INTEGER;
    PROCEDURE perform(
        in_w_id IN NUMBER, in_d_id IN NUMBER, in_c_id IN NUMBER, in_c_last IN VARCHAR2,
        out_c_id OUT NUMBER, out_first OUT VARCHAR2, out_middle OUT VARCHAR2, out_last OUT VARCHAR2,
        out_balance OUT NUMBER, out_o_id OUT NUMBER, out_entered OUT DATE, out_carrier_id OUT NUMBER,
        out_i_ids OUT numbers, out_supply_w_ids OUT numbers, out_quantities OUT numbers, out_amounts OUT numbers,
        out_delivered OUT dates);
END order_status_routine;
/
CREATE OR REPLACE PACKAGE BODY order_status_routine AS
    PROCEDURE perform(
        in_w_id IN NUMBER, in_d_id IN NUMBER, in_c_id IN NUMBER, in_c_last IN VARCHAR2,
        out_c_id OUT NUMBER, out_first OUT VARCHAR2, out_middle OUT VARCHAR2, out_last OUT VARCHAR2,
        out_balance OUT NUMBER, out_o_id OUT NUMBER, out_entered OUT DATE, out_carrier_id OUT NUMBER,
        out_i_ids OUT numbers, out_supply_w_ids OUT numbers, out_quantities OUT numbers, out_amounts OUT numbers,
        out_delivered OUT dates)
    IS
        named numbers;
        customer_id NUMBER := in_c_id;
        o_ids numbers;
        entered dates;
        carrier_ids numbers;
    BEGIN
        IF customer_id IS NULL THEN
            SELECT c_id BULK COLLECT INTO named
            FROM customer
            WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_last = in_c_last
            ORDER BY c_first, c_id;
            customer_id := named(TRUNC((named.COUNT + 1) / 2));
        END IF;
        SELECT c_id, c_first, c_middle, c_last, c_balance
        INTO out_c_id, out_first, out_middle, out_last, out_balance
        FROM customer
        WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_id = customer_id;
        SELECT o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
        BULK COLLECT INTO o_ids, entered, carrier_ids, out_i_ids, out_supply_w_ids, out_quantities, out_amounts,
                          out_delivered
        FROM orders
        JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
        WHERE o_w_id = in_w_id AND o_d_id = in_d_id
          AND o_id = (SELECT MAX(o.o_id) FROM orders o
                      WHERE o.o_w_id = in_w_id AND o.o_d_id = in_d_id AND o.o_c_id = customer_id)
        ORDER BY ol_number;
        out_o_id := o_ids(1);
        out_entered := entered(1);
        out_carrier_id := carrier_ids(1);
    EXCEPTION
        WHEN NO_DATA_FOUND THEN
            RAISE_APPLICATION_ERROR(-20002, 'there is no such customer, or it has no order');
    END perform;
END order_status_routine;
/

-- name: call_order_status
-- parameters: w_id, d_id, c_id, c_last
-- returns: customer_id(integer), c_first(text), c_middle(text), customer_last(text), c_balance(decimal.2), o_id(integer)
-- returns: o_entry_d(timestamp), o_carrier_id(integer), i_ids(integer[]), supply_w_ids(integer[]), quantities(integer[])
-- returns: amounts(decimal.2[]), delivered(timestamp[])
BEGIN
    order_status_routine.perform(
        :w_id, :d_id, :c_id, :c_last,
        :customer_id, :c_first, :c_middle, :customer_last, :c_balance, :o_id, :o_entry_d, :o_carrier_id,
        :i_ids, :supply_w_ids, :quantities, :amounts, :delivered);
END;
/

-- name: create_routine_delivery
-- TPC-C 2.7.4: the oldest undelivered order of each district. Deliveries of a warehouse are serialized before they
-- read the queues, so no order is skipped or delivered twice.
CREATE OR REPLACE PACKAGE delivery_routine AS
    TYPE numbers IS TABLE OF NUMBER INDEX BY PLS_INTEGER;
    PROCEDURE perform(in_w_id IN NUMBER, in_carrier_id IN NUMBER, out_d_ids OUT numbers, out_o_ids OUT numbers);
END delivery_routine;
/
CREATE OR REPLACE PACKAGE BODY delivery_routine AS
    PROCEDURE perform(in_w_id IN NUMBER, in_carrier_id IN NUMBER, out_d_ids OUT numbers, out_o_ids OUT numbers)
    IS
        locked NUMBER;
        d_ids numbers;
        o_ids numbers;
        c_ids numbers;
        amount NUMBER;
        amounts numbers;
        v_now DATE := SYSDATE;
    BEGIN
        SELECT i_id INTO locked FROM item WHERE i_id = in_w_id FOR UPDATE;
        SELECT d_id, oldest BULK COLLECT INTO d_ids, o_ids
        FROM (SELECT d_id, (SELECT MIN(no_o_id) FROM new_order
                            WHERE no_w_id = d_w_id AND no_d_id = d_id) AS oldest
              FROM district WHERE d_w_id = in_w_id) queues
        WHERE oldest IS NOT NULL
        ORDER BY d_id;

        FORALL i IN 1 .. d_ids.COUNT
            DELETE FROM new_order
            WHERE no_w_id = in_w_id AND no_d_id = d_ids(i) AND no_o_id = o_ids(i);
        FORALL i IN 1 .. d_ids.COUNT
            UPDATE orders SET o_carrier_id = in_carrier_id
            WHERE o_w_id = in_w_id AND o_d_id = d_ids(i) AND o_id = o_ids(i)
            RETURNING o_c_id BULK COLLECT INTO c_ids;
        IF c_ids.COUNT <> d_ids.COUNT THEN
            RAISE NO_DATA_FOUND;
        END IF;
        FOR i IN 1 .. d_ids.COUNT LOOP
            UPDATE order_line SET ol_delivery_d = v_now
            WHERE ol_w_id = in_w_id AND ol_d_id = d_ids(i) AND ol_o_id = o_ids(i)
            RETURNING SUM(ol_amount) INTO amount;
            amounts(i) := amount;
        END LOOP;
        FORALL i IN 1 .. d_ids.COUNT
            UPDATE customer SET c_balance = c_balance + amounts(i), c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = in_w_id AND c_d_id = d_ids(i) AND c_id = c_ids(i);
        out_d_ids := d_ids;
        out_o_ids := o_ids;
    EXCEPTION
        WHEN NO_DATA_FOUND THEN
            RAISE_APPLICATION_ERROR(-20002, 'there is no item with the number of the warehouse, or an order is missing');
    END perform;
END delivery_routine;
/

-- name: call_delivery
-- parameters: w_id, o_carrier_id
-- returns: d_ids(integer[]), o_ids(integer[])
BEGIN
    delivery_routine.perform(:w_id, :o_carrier_id, :d_ids, :o_ids);
END;
/

-- name: create_routine_stock_level
-- TPC-C 2.8.2: how many items of the district's last 20 orders are low in stock.
CREATE OR REPLACE PACKAGE stock_level_routine AS
    PROCEDURE perform(in_w_id IN NUMBER, in_d_id IN NUMBER, in_threshold IN NUMBER, out_low OUT NUMBER);
END stock_level_routine;
/
CREATE OR REPLACE PACKAGE BODY stock_level_routine AS
    PROCEDURE perform(in_w_id IN NUMBER, in_d_id IN NUMBER, in_threshold IN NUMBER, out_low OUT NUMBER) IS
    BEGIN
        SELECT COUNT(*) INTO out_low
        FROM stock
        WHERE s_w_id = in_w_id AND s_quantity < in_threshold
          AND s_i_id IN (SELECT ol_i_id
                         FROM district
                         JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id
                                        AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
                         WHERE d_w_id = in_w_id AND d_id = in_d_id);
    END perform;
END stock_level_routine;
/

-- name: call_stock_level
-- parameters: w_id, d_id, threshold
-- returns: low(integer)
BEGIN
    stock_level_routine.perform(:w_id, :d_id, :threshold, :low);
END;
/

-- name: drop_routine_new_order
DROP PACKAGE new_order_routine;

-- name: drop_routine_payment
DROP PACKAGE payment_routine;

-- name: drop_routine_order_status
DROP PACKAGE order_status_routine;

-- name: drop_routine_delivery
DROP PACKAGE delivery_routine;

-- name: drop_routine_stock_level
DROP PACKAGE stock_level_routine;
