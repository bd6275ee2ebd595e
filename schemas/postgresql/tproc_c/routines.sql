-- The five transactions as functions. Statements about a routine have "routine" in their name, as there
-- is a table new_order as well: create_routine_x, drop_routine_x, and call_x that sessions prepare.
--
-- All transactions lock rows in the same order, so that they never deadlock with each other: stock in the order of the
-- lines, which callers sort by (warehouse, item), and which requires a nested loop over them; deliveries of a warehouse
-- are serialized.
--
-- Starting a statement costs more than most of its work, and more with wider rows between its plan nodes, so the
-- columns of a result appear only once. Results have their own type, because a type of OUT parameters is rebuilt from
-- the catalog in each call.

-- name: create_routine_new_order
-- TPC-C 2.4.2. UPDATE ... FROM changes a row only once, so a line that repeats an item of the order is
-- processed separately; a remaining line with an unknown item rolls the order back (HK001). An order that ends with
-- the unused item (there are 100,000) does all of this in a subtransaction, so that its rollback is a null and not an
-- error, which the server would log with its statement.
DROP TYPE IF EXISTS new_order_reply CASCADE;  -- a function may have been dropped without it
CREATE TYPE new_order_reply AS (
    o_id integer, o_entry_d timestamp, w_tax numeric, d_tax numeric, c_discount numeric,
    c_last varchar, c_credit bpchar, total_amount numeric, i_names varchar[],
    s_quantities smallint[], brand_generics text[], i_prices numeric[], ol_amounts numeric[]);

CREATE FUNCTION new_order(
    in_w_id integer, in_d_id integer, in_c_id integer,
    item_ids integer[], supply_w_ids integer[], quantities integer[], is_inner boolean DEFAULT false)
RETURNS new_order_reply
LANGUAGE plpgsql SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    customer record;
    district record;
    stocked record;
    numbers smallint[];
    reply new_order_reply;
BEGIN
    IF item_ids[cardinality(item_ids)] > 100000 AND NOT is_inner THEN
        BEGIN
            RETURN new_order(in_w_id, in_d_id, in_c_id, item_ids, supply_w_ids, quantities, true);
        EXCEPTION WHEN SQLSTATE 'HK001' THEN
            RETURN NULL;
        END;
    END IF;

    SELECT c.c_discount, c.c_last, c.c_credit, w.w_tax INTO STRICT customer
    FROM warehouse AS w, customer AS c
    WHERE w.w_id = in_w_id AND c.c_w_id = in_w_id AND c.c_d_id = in_d_id AND c.c_id = in_c_id;

    UPDATE district AS d SET d_next_o_id = d.d_next_o_id + 1
    WHERE d.d_w_id = in_w_id AND d.d_id = in_d_id
    RETURNING d.d_next_o_id - 1 AS o_id, d.d_tax INTO STRICT district;

    WITH placed AS (
        INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        VALUES (in_w_id, in_d_id, district.o_id, in_c_id, localtimestamp, cardinality(item_ids),
                CASE WHEN in_w_id = ALL (supply_w_ids) THEN 1 ELSE 0 END)
    ), queued AS (
        INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (in_w_id, in_d_id, district.o_id)
    ), lines AS MATERIALIZED (
        SELECT number, item_id, supply_w_ids[number] AS supply_w_id, quantities[number] AS quantity
        FROM unnest(item_ids) WITH ORDINALITY AS ordered (item_id, number)
    ), taken AS (
        UPDATE stock AS s
        SET s_quantity = s.s_quantity - l.quantity + CASE WHEN s.s_quantity >= l.quantity + 10 THEN 0 ELSE 91 END,
            s_ytd = s.s_ytd + l.quantity,
            s_order_cnt = s.s_order_cnt + 1,
            s_remote_cnt = s.s_remote_cnt + CASE WHEN l.supply_w_id = in_w_id THEN 0 ELSE 1 END
        FROM lines AS l
        WHERE s.s_w_id = l.supply_w_id AND s.s_i_id = l.item_id
        RETURNING l.number, l.item_id, l.supply_w_id, l.quantity, s.s_quantity, s.s_data,
                  CASE in_d_id
                      WHEN 1 THEN s.s_dist_01 WHEN 2 THEN s.s_dist_02 WHEN 3 THEN s.s_dist_03
                      WHEN 4 THEN s.s_dist_04 WHEN 5 THEN s.s_dist_05 WHEN 6 THEN s.s_dist_06
                      WHEN 7 THEN s.s_dist_07 WHEN 8 THEN s.s_dist_08 WHEN 9 THEN s.s_dist_09
                      ELSE s.s_dist_10 END AS dist_info
    ), priced AS MATERIALIZED (
        SELECT t.number, t.item_id, t.supply_w_id, t.quantity, t.s_quantity, t.dist_info, i.i_name, i.i_price,
               t.quantity * i.i_price AS amount,
               CASE WHEN i.i_data LIKE '%ORIGINAL%' AND t.s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END AS brand
        FROM taken AS t JOIN item AS i ON i.i_id = t.item_id
        ORDER BY t.number
    ), written AS (
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
                                ol_amount, ol_dist_info)
        SELECT in_w_id, in_d_id, district.o_id, p.number, p.item_id, p.supply_w_id, p.quantity, p.amount, p.dist_info
        FROM priced AS p
    )
    SELECT district.o_id, localtimestamp, customer.w_tax, district.d_tax,
           customer.c_discount, customer.c_last, customer.c_credit,
           round(sum(p.amount) * (1 - customer.c_discount) * (1 + customer.w_tax + district.d_tax), 2),
           array_agg(p.i_name), array_agg(p.s_quantity), array_agg(p.brand), array_agg(p.i_price), array_agg(p.amount)
    INTO reply
    FROM priced AS p;

    IF cardinality(reply.i_names) = cardinality(item_ids) THEN
        RETURN reply;
    END IF;
    SELECT array_agg(l.ol_number) INTO numbers FROM order_line AS l
    WHERE l.ol_w_id = in_w_id AND l.ol_d_id = in_d_id AND l.ol_o_id = reply.o_id;
    FOR line IN 1 .. cardinality(item_ids) LOOP
        CONTINUE WHEN line = ANY (numbers);
        UPDATE stock AS s
        SET s_quantity = s.s_quantity - quantities[line]
                       + CASE WHEN s.s_quantity >= quantities[line] + 10 THEN 0 ELSE 91 END,
            s_ytd = s.s_ytd + quantities[line],
            s_order_cnt = s.s_order_cnt + 1,
            s_remote_cnt = s.s_remote_cnt + CASE WHEN supply_w_ids[line] = in_w_id THEN 0 ELSE 1 END
        FROM item AS i
        WHERE i.i_id = item_ids[line] AND s.s_w_id = supply_w_ids[line] AND s.s_i_id = item_ids[line]
        RETURNING s.s_quantity, i.i_name, i.i_price, quantities[line] * i.i_price AS amount,
                  CASE WHEN i.i_data LIKE '%ORIGINAL%' AND s.s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END AS brand,
                  (ARRAY[s.s_dist_01, s.s_dist_02, s.s_dist_03, s.s_dist_04, s.s_dist_05,
                         s.s_dist_06, s.s_dist_07, s.s_dist_08, s.s_dist_09, s.s_dist_10])[in_d_id] AS dist_info
        INTO stocked;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'item number is not valid' USING ERRCODE = 'HK001';
        END IF;
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
                                ol_amount, ol_dist_info)
        VALUES (in_w_id, in_d_id, reply.o_id, line, item_ids[line], supply_w_ids[line], quantities[line],
                stocked.amount, stocked.dist_info);
        reply.i_names := reply.i_names[1:line - 1] || stocked.i_name || reply.i_names[line:];
        reply.s_quantities := reply.s_quantities[1:line - 1] || stocked.s_quantity || reply.s_quantities[line:];
        reply.brand_generics := reply.brand_generics[1:line - 1] || stocked.brand || reply.brand_generics[line:];
        reply.i_prices := reply.i_prices[1:line - 1] || stocked.i_price || reply.i_prices[line:];
        reply.ol_amounts := reply.ol_amounts[1:line - 1] || stocked.amount || reply.ol_amounts[line:];
    END LOOP;
    reply.total_amount := round((SELECT sum(amount) FROM unnest(reply.ol_amounts) AS amount)
                                * (1 - reply.c_discount) * (1 + reply.w_tax + reply.d_tax), 2);
    RETURN reply;
END $$;

-- attempt: call_new_order
SELECT o_id, o_entry_d, w_tax, d_tax, c_discount, c_last, c_credit, total_amount,
       i_names, s_quantities, brand_generics, i_prices, ol_amounts
FROM new_order(:w_id, :d_id, :c_id, :item_ids, :supply_w_ids, :quantities)
WHERE o_id IS NOT NULL;

-- name: create_routine_payment
-- TPC-C 2.5.2. By name: of the n customers ordered by first name the one at n/2, rounded up. The customer is locked
-- first and the warehouse, which all payments share, last.
DROP TYPE IF EXISTS payment_reply CASCADE;  -- a function may have been dropped without it
CREATE TYPE payment_reply AS (
    c_id integer, c_first varchar, c_middle bpchar, c_last varchar,
    w_street_1 varchar, w_street_2 varchar, w_city varchar, w_state bpchar, w_zip bpchar,
    d_street_1 varchar, d_street_2 varchar, d_city varchar, d_state bpchar, d_zip bpchar,
    c_street_1 varchar, c_street_2 varchar, c_city varchar, c_state bpchar, c_zip bpchar,
    c_phone bpchar, c_since timestamp, c_credit bpchar, c_credit_lim numeric,
    c_discount numeric, c_balance numeric, c_data text, h_date timestamp);

CREATE FUNCTION payment(
    in_w_id integer, in_d_id integer, in_c_w_id integer, in_c_d_id integer, in_c_id integer, in_c_last text,
    in_amount numeric)
RETURNS payment_reply
LANGUAGE plpgsql AS $$
DECLARE
    payer_id integer := in_c_id;
    named integer[];
    payer record;
    district record;
    warehouse record;
BEGIN
    IF payer_id IS NULL THEN
        named := ARRAY(
            SELECT n.c_id FROM customer AS n
            WHERE n.c_w_id = in_c_w_id AND n.c_d_id = in_c_d_id AND n.c_last = in_c_last
            ORDER BY n.c_first, n.c_id);
        payer_id := named[(cardinality(named) + 1) / 2];
    END IF;

    UPDATE customer AS c
    SET c_balance = c.c_balance - in_amount,
        c_ytd_payment = c.c_ytd_payment + in_amount,
        c_payment_cnt = c.c_payment_cnt + 1,
        c_data = CASE WHEN c.c_credit = 'BC'
                 THEN left(concat_ws(' ', c.c_id, c.c_d_id, c.c_w_id, in_d_id, in_w_id, in_amount) || ' | '
                           || c.c_data, 500)
                 ELSE c.c_data END
    WHERE c.c_w_id = in_c_w_id AND c.c_d_id = in_c_d_id AND c.c_id = payer_id
    RETURNING c.c_id, c.c_first, c.c_middle, c.c_last, c.c_street_1, c.c_street_2, c.c_city, c.c_state, c.c_zip,
              c.c_phone, c.c_since, c.c_credit, c.c_credit_lim, c.c_discount, c.c_balance,
              CASE WHEN c.c_credit = 'BC' THEN left(c.c_data, 200) END AS c_data
    INTO STRICT payer;

    UPDATE district AS d SET d_ytd = d.d_ytd + in_amount
    WHERE d.d_w_id = in_w_id AND d.d_id = in_d_id
    RETURNING d.d_name, d.d_street_1, d.d_street_2, d.d_city, d.d_state, d.d_zip INTO STRICT district;

    UPDATE warehouse AS w SET w_ytd = w.w_ytd + in_amount
    WHERE w.w_id = in_w_id
    RETURNING w.w_name, w.w_street_1, w.w_street_2, w.w_city, w.w_state, w.w_zip INTO STRICT warehouse;

    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (payer.c_id, in_c_d_id, in_c_w_id, in_d_id, in_w_id, localtimestamp, in_amount,
            warehouse.w_name || '    ' || district.d_name);

    RETURN (payer.c_id, payer.c_first, payer.c_middle, payer.c_last,
            warehouse.w_street_1, warehouse.w_street_2, warehouse.w_city, warehouse.w_state, warehouse.w_zip,
            district.d_street_1, district.d_street_2, district.d_city, district.d_state, district.d_zip,
            payer.c_street_1, payer.c_street_2, payer.c_city, payer.c_state, payer.c_zip,
            payer.c_phone, payer.c_since, payer.c_credit, payer.c_credit_lim,
            payer.c_discount, payer.c_balance, payer.c_data, localtimestamp)::payment_reply;
END $$;

-- name: call_payment
SELECT c_id, c_first, c_middle, c_last, w_street_1, w_street_2, w_city, w_state, w_zip,
       d_street_1, d_street_2, d_city, d_state, d_zip, c_street_1, c_street_2, c_city, c_state, c_zip,
       c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_data, h_date
FROM payment(:w_id, :d_id, :c_w_id, :c_d_id, :c_id, :c_last, :h_amount);

-- name: create_routine_order_status
-- TPC-C 2.6.2: a customer's balance and last order. One query, which is inlined into the call.
CREATE FUNCTION order_status(in_w_id integer, in_d_id integer, in_c_id integer, in_c_last text)
RETURNS TABLE (
    c_id integer, c_first varchar, c_middle bpchar, c_last varchar, c_balance numeric,
    o_id integer, o_entry_d timestamp, o_carrier_id smallint,
    ol_i_ids integer[], ol_supply_w_ids integer[], ol_quantities smallint[],
    ol_amounts numeric[], ol_delivery_ds timestamp[])
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT c.c_id, c.c_first, c.c_middle, c.c_last, c.c_balance, o.o_id, o.o_entry_d, o.o_carrier_id,
           l.i_ids, l.supply_w_ids, l.quantities, l.amounts, l.delivery_ds
    FROM customer AS c
    CROSS JOIN LATERAL (
        SELECT latest.o_id, latest.o_entry_d, latest.o_carrier_id FROM orders AS latest
        WHERE latest.o_w_id = in_w_id AND latest.o_d_id = in_d_id AND latest.o_c_id = c.c_id
        ORDER BY latest.o_id DESC LIMIT 1) AS o
    CROSS JOIN LATERAL (
        SELECT array_agg(line.ol_i_id) AS i_ids, array_agg(line.ol_supply_w_id) AS supply_w_ids,
               array_agg(line.ol_quantity) AS quantities, array_agg(line.ol_amount) AS amounts,
               array_agg(line.ol_delivery_d) AS delivery_ds
        FROM (SELECT * FROM order_line AS ol
              WHERE ol.ol_w_id = in_w_id AND ol.ol_d_id = in_d_id AND ol.ol_o_id = o.o_id
              ORDER BY ol.ol_number) AS line) AS l
    WHERE c.c_w_id = in_w_id AND c.c_d_id = in_d_id
      AND c.c_id = coalesce(in_c_id, (
          SELECT (array_agg(named.c_id))[(count(*) + 1) / 2]
          FROM (SELECT n.c_id FROM customer AS n
                WHERE n.c_w_id = in_w_id AND n.c_d_id = in_d_id AND n.c_last = in_c_last
                ORDER BY n.c_first, n.c_id) AS named))
$$;

-- name: call_order_status
SELECT c_id, c_first, c_middle, c_last, c_balance, o_id, o_entry_d, o_carrier_id,
       ol_i_ids, ol_supply_w_ids, ol_quantities, ol_amounts, ol_delivery_ds
FROM order_status(:w_id, :d_id, :c_id, :c_last);

-- name: create_routine_delivery
-- TPC-C 2.7.4: the oldest undelivered order of each district. Deliveries of a warehouse are serialized
-- before they read the queues, so no order is skipped or delivered twice.
CREATE FUNCTION delivery(in_w_id integer, in_carrier_id integer, OUT d_ids smallint[], OUT o_ids integer[])
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('tproc_c delivery'), in_w_id);

    WITH oldest AS MATERIALIZED (
        SELECT d.d_id, head.no_o_id
        FROM (SELECT d_id FROM district WHERE d_w_id = in_w_id ORDER BY d_id) AS d
        CROSS JOIN LATERAL (
            SELECT n.no_o_id FROM new_order AS n
            WHERE n.no_w_id = in_w_id AND n.no_d_id = d.d_id
            ORDER BY n.no_o_id LIMIT 1) AS head
    ), taken AS (
        DELETE FROM new_order AS n USING oldest AS o
        WHERE n.no_w_id = in_w_id AND n.no_d_id = o.d_id AND n.no_o_id = o.no_o_id
        RETURNING n.no_d_id AS d_id, n.no_o_id AS o_id
    ), carried AS (
        UPDATE orders AS o SET o_carrier_id = in_carrier_id
        FROM taken AS t
        WHERE o.o_w_id = in_w_id AND o.o_d_id = t.d_id AND o.o_id = t.o_id
        RETURNING o.o_d_id AS d_id, o.o_id, o.o_c_id
    ), delivered AS (
        UPDATE order_line AS l SET ol_delivery_d = localtimestamp
        FROM taken AS t
        WHERE l.ol_w_id = in_w_id AND l.ol_d_id = t.d_id AND l.ol_o_id = t.o_id
        RETURNING l.ol_d_id AS d_id, l.ol_amount
    ), billed AS (
        UPDATE customer AS c SET c_balance = c.c_balance + bill.amount, c_delivery_cnt = c.c_delivery_cnt + 1
        FROM carried AS o
        JOIN (SELECT d_id, sum(ol_amount) AS amount FROM delivered GROUP BY d_id) AS bill ON bill.d_id = o.d_id
        WHERE c.c_w_id = in_w_id AND c.c_d_id = o.d_id AND c.c_id = o.o_c_id
    )
    SELECT coalesce(array_agg(o.d_id), '{}'), coalesce(array_agg(o.o_id), '{}')
    INTO d_ids, o_ids
    FROM (SELECT * FROM carried ORDER BY d_id) AS o;
END $$;

-- name: call_delivery
SELECT d_ids, o_ids FROM delivery(:w_id, :o_carrier_id);

-- name: create_routine_stock_level
-- TPC-C 2.8.2: how many items of the district's last 20 orders are low in stock. One query, which is inlined
-- into the call; the index looks up each item of the array once, in index order.
CREATE FUNCTION stock_level(in_w_id integer, in_d_id integer, in_threshold integer)
RETURNS TABLE (low_stock bigint)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT count(*)
    FROM stock AS s
    WHERE s.s_w_id = in_w_id AND s.s_quantity < in_threshold
      AND s.s_i_id = ANY (ARRAY(
          SELECT l.ol_i_id
          FROM district AS d
          JOIN order_line AS l ON l.ol_w_id = in_w_id AND l.ol_d_id = in_d_id
                              AND l.ol_o_id >= d.d_next_o_id - 20 AND l.ol_o_id < d.d_next_o_id
          WHERE d.d_w_id = in_w_id AND d.d_id = in_d_id))
$$;

-- name: call_stock_level
SELECT low_stock FROM stock_level(:w_id, :d_id, :threshold);

-- name: drop_routine_new_order
DROP FUNCTION new_order;
DROP TYPE new_order_reply;

-- name: drop_routine_payment
DROP FUNCTION payment;
DROP TYPE payment_reply;

-- name: drop_routine_order_status
DROP FUNCTION order_status;

-- name: drop_routine_delivery
DROP FUNCTION delivery;

-- name: drop_routine_stock_level
DROP FUNCTION stock_level;
