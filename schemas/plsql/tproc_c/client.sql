-- Statements of client SQL that return what they changed: blocks, since RETURNING needs variables.

-- name: client_update_stock
-- TPC-C 2.4.2.2; returns the new quantity.
-- parameters: quantity, remote, supply_w_id, i_id
-- returns: s_quantity(integer)
BEGIN
    UPDATE stock
    SET s_quantity = s_quantity - :quantity + CASE WHEN s_quantity >= :quantity + 10 THEN 0 ELSE 91 END,
        s_ytd = s_ytd + :quantity,
        s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + :remote
    WHERE s_w_id = :supply_w_id AND s_i_id = :i_id
    RETURNING s_quantity INTO :s_quantity;
END;
/

-- name: client_update_payer
-- Returns the columns of the customer that the terminal shows.
-- parameters: h_amount, note, w_id, d_id, c_id
-- returns: payer_id(integer), c_first(text), c_middle(text), c_last(text), c_street_1(text), c_street_2(text)
-- returns: c_city(text), c_state(text), c_zip(text), c_phone(text), c_since(timestamp), c_credit(text)
-- returns: c_credit_lim(decimal.2), c_discount(decimal.4), c_balance(decimal.2), c_data(text)
BEGIN
    UPDATE customer
    SET c_balance = c_balance - :h_amount,
        c_ytd_payment = c_ytd_payment + :h_amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE c_credit WHEN 'BC' THEN SUBSTR(:note || c_data, 1, 500) ELSE c_data END
    WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id
    RETURNING c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
              c_credit, c_credit_lim, c_discount, c_balance, DECODE(c_credit, 'BC', SUBSTR(c_data, 1, 200))
    INTO :payer_id, :c_first, :c_middle, :c_last, :c_street_1, :c_street_2, :c_city, :c_state, :c_zip, :c_phone,
         :c_since, :c_credit, :c_credit_lim, :c_discount, :c_balance, :c_data;
    IF SQL%ROWCOUNT = 0 THEN
        RAISE_APPLICATION_ERROR(-20002, 'there is no such customer');
    END IF;
END;
/
