-- HammerDB's style of PostgreSQL procedures, written anew from its documented signatures and habits: arrays, UNNEST
-- and UPDATE ... RETURNING, a statement a table; items drawn in the routine; of stock only the quantity, of a
-- customer only balance and data; the unused item leaves a line without an amount and is committed; an EXCEPTION block
-- around each transaction that writes (documented), which makes it a subtransaction.

CREATE PROCEDURE neword(
    no_w_id integer, no_max_w_id integer, no_d_id integer, no_c_id integer, no_o_ol_cnt integer,
    INOUT no_c_discount numeric, INOUT no_c_last varchar, INOUT no_c_credit varchar,
    INOUT no_d_tax numeric, INOUT no_w_tax numeric, INOUT no_d_next_o_id integer, IN tstamp timestamp)
LANGUAGE plpgsql AS $$
DECLARE
    item_ids integer[] := '{}';
    supply_w_ids integer[] := '{}';
    quantities integer[] := '{}';
    prices numeric[];
    dist_infos text[];
    all_local smallint := 1;
    supplier integer;
BEGIN
    FOR line IN 1 .. no_o_ol_cnt LOOP
        item_ids[line] := floor(random() * 100000)::integer + 1;
        supplier := no_w_id;
        IF no_max_w_id > 1 AND random() < 0.01 THEN
            supplier := 1 + (no_w_id + floor(random() * (no_max_w_id - 1))::integer) % no_max_w_id;
            all_local := 0;
        END IF;
        supply_w_ids[line] := supplier;
        quantities[line] := floor(random() * 10)::integer + 1;
    END LOOP;
    IF random() < 0.01 THEN
        item_ids[no_o_ol_cnt] := 100001;
    END IF;

    SELECT c_discount, c_last, c_credit, w_tax INTO no_c_discount, no_c_last, no_c_credit, no_w_tax
    FROM customer, warehouse
    WHERE w_id = no_w_id AND c_w_id = no_w_id AND c_d_id = no_d_id AND c_id = no_c_id;

    UPDATE district SET d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = no_w_id AND d_id = no_d_id
    RETURNING d_next_o_id - 1, d_tax INTO no_d_next_o_id, no_d_tax;

    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (no_d_next_o_id, no_d_id, no_w_id, no_c_id, tstamp, no_o_ol_cnt, all_local);

    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (no_d_next_o_id, no_d_id, no_w_id);

    SELECT array_agg(i_price ORDER BY number) INTO prices
    FROM unnest(item_ids) WITH ORDINALITY AS ordered (item_id, number)
    LEFT JOIN item ON i_id = item_id;

    WITH taken AS (
        UPDATE stock
        SET s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END
        FROM unnest(item_ids, supply_w_ids, quantities) WITH ORDINALITY
             AS ordered (item_id, supply_w_id, quantity, number)
        WHERE s_i_id = item_id AND s_w_id = supply_w_id
        RETURNING number,
                  CASE no_d_id
                      WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                      WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                      WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist_info)
    SELECT array_agg(dist_info ORDER BY number) INTO dist_infos FROM taken;

    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                            ol_dist_info)
    SELECT no_d_next_o_id, no_d_id, no_w_id, number, item_id, supply_w_id, quantity, quantity * price,
           coalesce(dist_info, '')
    FROM unnest(item_ids, supply_w_ids, quantities, prices, dist_infos) WITH ORDINALITY
         AS ordered (item_id, supply_w_id, quantity, price, dist_info, number);
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found THEN RAISE;
END $$;

CREATE PROCEDURE payment(
    p_w_id integer, p_d_id integer, p_c_w_id integer, p_c_d_id integer, byname integer, p_h_amount numeric,
    INOUT p_c_credit varchar, INOUT p_c_last varchar, INOUT p_c_id integer,
    INOUT p_w_street_1 varchar, INOUT p_w_street_2 varchar, INOUT p_w_city varchar, INOUT p_w_state varchar,
    INOUT p_w_zip varchar, INOUT p_d_street_1 varchar, INOUT p_d_street_2 varchar, INOUT p_d_city varchar,
    INOUT p_d_state varchar, INOUT p_d_zip varchar, INOUT p_c_first varchar, INOUT p_c_middle varchar,
    INOUT p_c_street_1 varchar, INOUT p_c_street_2 varchar, INOUT p_c_city varchar, INOUT p_c_state varchar,
    INOUT p_c_zip varchar, INOUT p_c_phone varchar, INOUT p_c_since timestamp, INOUT p_c_credit_lim numeric,
    INOUT p_c_discount numeric, INOUT p_c_balance numeric, INOUT p_c_data varchar, INOUT tstamp timestamp)
LANGUAGE plpgsql AS $$
DECLARE
    named integer[];
    p_w_name varchar;
    p_d_name varchar;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + p_h_amount WHERE w_id = p_w_id
    RETURNING w_street_1, w_street_2, w_city, w_state, w_zip, w_name
    INTO p_w_street_1, p_w_street_2, p_w_city, p_w_state, p_w_zip, p_w_name;

    UPDATE district SET d_ytd = d_ytd + p_h_amount WHERE d_w_id = p_w_id AND d_id = p_d_id
    RETURNING d_street_1, d_street_2, d_city, d_state, d_zip, d_name
    INTO p_d_street_1, p_d_street_2, p_d_city, p_d_state, p_d_zip, p_d_name;

    IF byname = 1 THEN
        SELECT array_agg(c_id ORDER BY c_first) INTO named
        FROM customer WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last;
        p_c_id := named[greatest(1, cardinality(named) / 2)];
    END IF;

    UPDATE customer
    SET c_balance = c_balance - p_h_amount,
        c_data = CASE WHEN c_credit = 'BC'
                 THEN substr(concat_ws(' ', c_id, c_d_id, c_w_id, p_d_id, p_w_id, p_h_amount, tstamp, c_data), 1, 500)
                 ELSE c_data END
    WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = p_c_id
    RETURNING c_credit, c_last, c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
              c_credit_lim, c_discount, c_balance, CASE WHEN c_credit = 'BC' THEN substr(c_data, 1, 200) ELSE '' END
    INTO p_c_credit, p_c_last, p_c_first, p_c_middle, p_c_street_1, p_c_street_2, p_c_city, p_c_state, p_c_zip,
         p_c_phone, p_c_since, p_c_credit_lim, p_c_discount, p_c_balance, p_c_data;

    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (p_c_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, tstamp, p_h_amount, p_w_name || '    ' || p_d_name);
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found THEN RAISE;
END $$;

CREATE PROCEDURE delivery(d_w_id integer, d_o_carrier_id integer, IN tstamp timestamp)
LANGUAGE plpgsql AS $$
DECLARE
    districts integer[];
    order_ids integer[];
    customers integer[];
    amounts numeric[];
BEGIN
    WITH oldest AS (
        DELETE FROM new_order
        USING unnest('{1,2,3,4,5,6,7,8,9,10}'::integer[]) AS districts (d_id)
        WHERE no_w_id = d_w_id AND no_d_id = d_id
          AND no_o_id = (SELECT min(n.no_o_id) FROM new_order AS n WHERE n.no_w_id = d_w_id AND n.no_d_id = d_id)
        RETURNING no_d_id, no_o_id)
    SELECT array_agg(no_d_id), array_agg(no_o_id) INTO districts, order_ids FROM oldest;

    WITH carried AS (
        UPDATE orders SET o_carrier_id = d_o_carrier_id
        FROM unnest(districts, order_ids) AS taken (d_id, id)
        WHERE o_w_id = d_w_id AND o_d_id = d_id AND o_id = id
        RETURNING o_d_id, o_id, o_c_id)
    SELECT array_agg(o_d_id), array_agg(o_id), array_agg(o_c_id) INTO districts, order_ids, customers FROM carried;

    WITH delivered AS (
        UPDATE order_line SET ol_delivery_d = tstamp
        FROM unnest(districts, order_ids) AS taken (d_id, id)
        WHERE ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id = id
        RETURNING ol_d_id, ol_amount), billed AS (
        SELECT ol_d_id, sum(ol_amount) AS amount FROM delivered GROUP BY ol_d_id)
    SELECT array_agg(amount ORDER BY number) INTO amounts
    FROM unnest(districts) WITH ORDINALITY AS taken (d_id, number) LEFT JOIN billed ON ol_d_id = d_id;

    UPDATE customer SET c_balance = c_balance + coalesce(amount, 0)
    FROM unnest(districts, customers, amounts) AS billed (d_id, id, amount)
    WHERE c_w_id = d_w_id AND c_d_id = d_id AND c_id = id;
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR no_data_found THEN RAISE;
END $$;

CREATE PROCEDURE ostat(
    os_w_id integer, os_d_id integer, INOUT os_c_id integer, byname integer, INOUT os_c_last varchar,
    INOUT os_c_first varchar, INOUT os_c_middle varchar, INOUT os_c_balance numeric, INOUT os_o_id integer,
    INOUT os_entdate timestamp, INOUT os_o_carrier_id integer, INOUT os_lines varchar)
LANGUAGE plpgsql AS $$
DECLARE
    named integer[];
BEGIN
    IF byname = 1 THEN
        SELECT array_agg(c_id ORDER BY c_first) INTO named
        FROM customer WHERE c_w_id = os_w_id AND c_d_id = os_d_id AND c_last = os_c_last;
        os_c_id := named[(cardinality(named) + 1) / 2];
    END IF;

    SELECT c_last, c_first, c_middle, c_balance INTO os_c_last, os_c_first, os_c_middle, os_c_balance
    FROM customer WHERE c_w_id = os_w_id AND c_d_id = os_d_id AND c_id = os_c_id;

    SELECT o_id, o_carrier_id, o_entry_d INTO os_o_id, os_o_carrier_id, os_entdate
    FROM orders WHERE o_w_id = os_w_id AND o_d_id = os_d_id AND o_c_id = os_c_id ORDER BY o_id DESC LIMIT 1;

    SELECT string_agg(concat_ws(',', ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d), '|')
    INTO os_lines
    FROM order_line WHERE ol_w_id = os_w_id AND ol_d_id = os_d_id AND ol_o_id = os_o_id;
END $$;

CREATE PROCEDURE slev(st_w_id integer, st_d_id integer, threshold integer, INOUT stock_count integer)
LANGUAGE plpgsql AS $$
DECLARE
    next_o_id integer;
BEGIN
    SELECT d_next_o_id INTO next_o_id FROM district WHERE d_w_id = st_w_id AND d_id = st_d_id;

    SELECT count(DISTINCT s_i_id) INTO stock_count
    FROM order_line, stock
    WHERE ol_w_id = st_w_id AND ol_d_id = st_d_id AND ol_o_id < next_o_id AND ol_o_id >= next_o_id - 20
      AND s_w_id = st_w_id AND s_i_id = ol_i_id AND s_quantity < threshold;
END $$;
