-- name: create_routine_delivery
-- TPC-C 2.7.4: the oldest undelivered order of each district. Deliveries of a warehouse are serialized before they
-- read the queues, so no order is skipped or delivered twice. A change does not return a sum, so it is read before.
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
        SELECT no_d_id, MIN(no_o_id) BULK COLLECT INTO d_ids, o_ids
        FROM new_order
        WHERE no_w_id = in_w_id
        GROUP BY no_d_id
        ORDER BY no_d_id;

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
            SELECT SUM(ol_amount) INTO amount
            FROM order_line
            WHERE ol_w_id = in_w_id AND ol_d_id = d_ids(i) AND ol_o_id = o_ids(i);
            amounts(i) := amount;
        END LOOP;
        FORALL i IN 1 .. d_ids.COUNT
            UPDATE order_line SET ol_delivery_d = v_now
            WHERE ol_w_id = in_w_id AND ol_d_id = d_ids(i) AND ol_o_id = o_ids(i);
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
