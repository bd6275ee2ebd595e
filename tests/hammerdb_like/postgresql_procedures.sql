-- HammerDB's style of PostgreSQL procedures, written anew from its documented signatures and habits: arrays, UNNEST
-- and UPDATE ... RETURNING, a statement a table. What costs it time is kept: every draw is a call of a PL/pgSQL
-- function, arrays have sizes and digits, a customer is read before he is written, those of one name are
-- counted and then fetched one by one, an order's total is summed up in a loop, and an EXCEPTION block makes all of it a
-- subtransaction. Of stock only the quantity is kept, of a customer only balance and data; the unused item leaves a
-- line without an amount and is committed.

CREATE FUNCTION drawn(lowest integer, highest integer) RETURNS integer LANGUAGE plpgsql STRICT AS $$
BEGIN
    RETURN lowest + trunc(random() * (highest - lowest + 1));
END $$;

CREATE PROCEDURE neword(
    no_w_id integer, no_max_w_id integer, no_d_id integer, no_c_id integer, no_o_ol_cnt integer,
    INOUT no_c_discount numeric, INOUT no_c_last varchar, INOUT no_c_credit varchar,
    INOUT no_d_tax numeric, INOUT no_w_tax numeric, INOUT no_d_next_o_id integer, IN tstamp timestamp)
LANGUAGE plpgsql AS $$
DECLARE
    item_ids integer[];
    supply_w_ids integer[];
    quantities smallint[];
    numbers smallint[];
    prices numeric(5, 2)[];
    amounts numeric(6, 2)[];
    stocked smallint[];
    dist_infos char(24)[];
    total numeric := 0;
    all_local smallint := 1;
    rolled_back smallint := round(drawn(1, 100));
BEGIN
    SELECT c_discount, c_last, c_credit, w_tax INTO no_c_discount, no_c_last, no_c_credit, no_w_tax
    FROM customer, warehouse
    WHERE w_id = no_w_id AND c_w_id = no_w_id AND c_d_id = no_d_id AND c_id = no_c_id;

    FOR line IN 1 .. no_o_ol_cnt LOOP
        IF rolled_back = 1 AND line = no_o_ol_cnt THEN
            item_ids[line] := 100001;
        ELSE
            item_ids[line] := round(drawn(1, 100000));
        END IF;
        IF round(drawn(1, 100)) = 1 THEN
            supply_w_ids[line] := 1 + (no_w_id + round(drawn(0, no_max_w_id - 1))::integer) % no_max_w_id;
            all_local := 0;
        ELSE
            supply_w_ids[line] := no_w_id;
        END IF;
        quantities[line] := round(drawn(1, 10));
        numbers[line] := line;
    END LOOP;

    UPDATE district SET d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = no_w_id AND d_id = no_d_id
    RETURNING d_next_o_id - 1, d_tax INTO no_d_next_o_id, no_d_tax;

    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (no_d_next_o_id, no_d_id, no_w_id, no_c_id, current_timestamp, no_o_ol_cnt, all_local);

    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (no_d_next_o_id, no_d_id, no_w_id);

    SELECT array_agg(i_price) INTO prices FROM unnest(item_ids) AS ordered (item_id) LEFT JOIN item ON i_id = item_id;

    WITH taken AS (
        UPDATE stock
        SET s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END
        FROM unnest(item_ids, supply_w_ids, quantities, prices) AS ordered (item_id, supply_w_id, quantity, price)
        WHERE s_i_id = item_id AND s_w_id = supply_w_id AND s_w_id = ANY (supply_w_ids)
        RETURNING s_quantity, quantity * price * (1 - no_c_discount) * (1 + no_w_tax + no_d_tax) AS amount,
                  CASE no_d_id
                      WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                      WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                      WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist_info)
    SELECT array_agg(dist_info), array_agg(s_quantity), array_agg(amount) INTO dist_infos, stocked, amounts FROM taken;

    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                            ol_dist_info)
    SELECT no_d_next_o_id, no_d_id, no_w_id, number, item_id, supply_w_id, quantity, amount, dist_info
    FROM unnest(numbers, item_ids, supply_w_ids, quantities, amounts, dist_infos)
         AS ordered (number, item_id, supply_w_id, quantity, amount, dist_info);

    FOR line IN 1 .. no_o_ol_cnt LOOP
        total := total + amounts[line];
    END LOOP;
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found THEN ROLLBACK;
END $$;

CREATE PROCEDURE payment(
    p_w_id integer, p_d_id integer, p_c_w_id integer, p_c_d_id integer, byname integer, p_h_amount numeric,
    INOUT p_c_credit char(2), INOUT p_c_last varchar(16), INOUT p_c_id integer,
    INOUT p_w_street_1 varchar(20), INOUT p_w_street_2 varchar(20), INOUT p_w_city varchar(20),
    INOUT p_w_state char(2), INOUT p_w_zip char(9), INOUT p_d_street_1 varchar(20), INOUT p_d_street_2 varchar(20),
    INOUT p_d_city varchar(20), INOUT p_d_state char(2), INOUT p_d_zip char(9), INOUT p_c_first varchar(16),
    INOUT p_c_middle char(2), INOUT p_c_street_1 varchar(20), INOUT p_c_street_2 varchar(20),
    INOUT p_c_city varchar(20), INOUT p_c_state char(2), INOUT p_c_zip char(9), INOUT p_c_phone char(16),
    INOUT p_c_since timestamp, INOUT p_c_credit_lim numeric(12, 2), INOUT p_c_discount numeric(4, 4),
    INOUT p_c_balance numeric(12, 2), INOUT p_c_data varchar(500), tstamp timestamp)
LANGUAGE plpgsql AS $$
DECLARE
    w_name varchar(11);
    d_name varchar(11);
    note varchar(30);
    named smallint;
    by_first CURSOR FOR
        SELECT c_first, c_middle, c_id, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
               c_credit_lim, c_discount, c_balance
        FROM customer WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last ORDER BY c_first;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + p_h_amount WHERE w_id = p_w_id
    RETURNING warehouse.w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    INTO w_name, p_w_street_1, p_w_street_2, p_w_city, p_w_state, p_w_zip;

    UPDATE district SET d_ytd = d_ytd + p_h_amount WHERE d_w_id = p_w_id AND d_id = p_d_id
    RETURNING district.d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    INTO d_name, p_d_street_1, p_d_street_2, p_d_city, p_d_state, p_d_zip;

    IF byname = 1 THEN
        SELECT count(*) INTO named
        FROM customer WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last;
        OPEN by_first;
        FOR customer_of_name IN 1 .. named / 2 LOOP
            FETCH by_first INTO p_c_first, p_c_middle, p_c_id, p_c_street_1, p_c_street_2, p_c_city, p_c_state,
                                p_c_zip, p_c_phone, p_c_since, p_c_credit, p_c_credit_lim, p_c_discount, p_c_balance;
        END LOOP;
        CLOSE by_first;
    ELSE
        SELECT c_last, c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
               c_credit_lim, c_discount, c_balance
        INTO p_c_last, p_c_first, p_c_middle, p_c_street_1, p_c_street_2, p_c_city, p_c_state,
             p_c_zip, p_c_phone, p_c_since, p_c_credit, p_c_credit_lim, p_c_discount, p_c_balance
        FROM customer WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = p_c_id;
    END IF;

    note := w_name || '    ' || d_name;
    IF p_c_credit = 'BC' THEN
        UPDATE customer
        SET c_balance = p_c_balance - p_h_amount,
            c_data = left(concat_ws(' ', p_c_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, to_char(p_h_amount, '9990.00'),
                                    to_char(tstamp, 'YYYYMMDDHH24MISS'), note, c_data), 500)
        WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = p_c_id
        RETURNING c_balance, c_data INTO p_c_balance, p_c_data;
    ELSE
        UPDATE customer SET c_balance = p_c_balance - p_h_amount
        WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = p_c_id
        RETURNING c_balance, c_data INTO p_c_balance, p_c_data;
    END IF;

    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (p_c_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, tstamp, p_h_amount, note);
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found THEN ROLLBACK;
END $$;

CREATE PROCEDURE delivery(d_w_id integer, d_o_carrier_id integer, IN tstamp timestamp)
LANGUAGE plpgsql AS $$
DECLARE
    all_districts smallint[] := '{1,2,3,4,5,6,7,8,9,10}';
    districts smallint[];
    order_ids integer[];
    customers integer[];
    amounts numeric[];
BEGIN
    WITH oldest AS (
        DELETE FROM new_order USING unnest(all_districts) AS districts (d_id)
        WHERE no_w_id = d_w_id AND no_d_id = d_id
          AND no_o_id = (SELECT min(n.no_o_id) FROM new_order AS n WHERE n.no_w_id = d_w_id AND n.no_d_id = d_id)
        RETURNING no_d_id, no_o_id)
    SELECT array_agg(no_d_id), array_agg(no_o_id) INTO districts, order_ids FROM oldest;

    UPDATE orders SET o_carrier_id = d_o_carrier_id
    FROM unnest(districts, order_ids) AS taken (d_id, id)
    WHERE o_w_id = d_w_id AND o_d_id = d_id AND o_id = id;

    WITH delivered AS (
        UPDATE order_line SET ol_delivery_d = current_timestamp
        FROM unnest(districts, order_ids) AS taken (d_id, id)
        WHERE ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id = id
        RETURNING ol_d_id, ol_o_id, ol_amount), billed AS (
        SELECT ol_d_id AS d_id, sum(ol_amount) AS amount,
               (SELECT DISTINCT o_c_id FROM orders WHERE o_w_id = d_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id)
               AS c_id
        FROM delivered GROUP BY ol_d_id, ol_o_id)
    SELECT array_agg(d_id), array_agg(c_id), array_agg(amount) INTO districts, customers, amounts FROM billed;

    UPDATE customer SET c_balance = coalesce(c_balance, 0) + amount
    FROM unnest(districts, customers, amounts) AS billed (d_id, id, amount)
    WHERE c_w_id = d_w_id AND c_d_id = d_id AND c_id = id;
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found THEN ROLLBACK;
END $$;

CREATE PROCEDURE ostat(
    os_w_id integer, os_d_id integer, INOUT os_c_id integer, byname integer, INOUT os_c_last varchar,
    INOUT os_c_first varchar, INOUT os_c_middle varchar, INOUT os_c_balance numeric, INOUT os_o_id integer,
    INOUT os_entdate timestamp, INOUT os_o_carrier_id integer, INOUT os_lines text)
LANGUAGE plpgsql AS $$
DECLARE
    named integer;
    line record;
    by_first CURSOR FOR
        SELECT c_id, c_first, c_middle, c_balance
        FROM customer WHERE c_w_id = os_w_id AND c_d_id = os_d_id AND c_last = os_c_last ORDER BY c_first;
BEGIN
    IF byname = 1 THEN
        SELECT count(*) INTO named
        FROM customer WHERE c_w_id = os_w_id AND c_d_id = os_d_id AND c_last = os_c_last;
        OPEN by_first;
        FOR customer_of_name IN 1 .. (named + 1) / 2 LOOP
            FETCH by_first INTO os_c_id, os_c_first, os_c_middle, os_c_balance;
        END LOOP;
        CLOSE by_first;
    ELSE
        SELECT c_last, c_first, c_middle, c_balance INTO os_c_last, os_c_first, os_c_middle, os_c_balance
        FROM customer WHERE c_w_id = os_w_id AND c_d_id = os_d_id AND c_id = os_c_id;
    END IF;

    SELECT o_id, o_carrier_id, o_entry_d INTO os_o_id, os_o_carrier_id, os_entdate
    FROM orders WHERE o_w_id = os_w_id AND o_d_id = os_d_id AND o_c_id = os_c_id ORDER BY o_id DESC LIMIT 1;

    FOR line IN
        SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d, os_c_id, os_c_last, os_c_first,
               os_c_middle, os_c_balance, os_o_id, os_entdate, os_o_carrier_id
        FROM order_line WHERE ol_w_id = os_w_id AND ol_d_id = os_d_id AND ol_o_id = os_o_id
    LOOP
        os_lines := os_lines || '|' || line.ol_i_id || ',' || line.ol_supply_w_id || ',' || line.ol_quantity || ','
                 || line.ol_amount || ',' || line.ol_delivery_d;
    END LOOP;
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found THEN ROLLBACK;
END $$;

CREATE PROCEDURE slev(st_w_id integer, st_d_id integer, threshold integer, INOUT stock_count integer)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT count(DISTINCT s_i_id) INTO stock_count
    FROM district, order_line, stock
    WHERE d_w_id = st_w_id AND d_id = st_d_id
      AND ol_w_id = st_w_id AND ol_d_id = st_d_id AND ol_o_id < d_next_o_id AND ol_o_id >= d_next_o_id - 20
      AND s_w_id = st_w_id AND s_i_id = ol_i_id AND s_quantity < threshold;
END $$;
