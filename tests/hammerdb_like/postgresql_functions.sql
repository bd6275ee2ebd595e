-- The same work behind functions of the documented signatures: the procedures stand in a schema where nobody finds them.
CREATE SCHEMA behind;
ALTER PROCEDURE neword SET SCHEMA behind;
ALTER PROCEDURE payment SET SCHEMA behind;
ALTER PROCEDURE delivery SET SCHEMA behind;
ALTER PROCEDURE slev SET SCHEMA behind;
DROP PROCEDURE ostat;

CREATE FUNCTION neword(integer, integer, integer, integer, integer, integer) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    discount numeric; last varchar; credit varchar; d_tax numeric; w_tax numeric; number integer;
BEGIN
    CALL behind.neword($1, $2, $3, $4, $5, discount, last, credit, d_tax, w_tax, number, localtimestamp);
    RETURN (SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $3 AND ol_o_id = number);
END $$;

CREATE FUNCTION payment(integer, integer, integer, integer, integer, integer, numeric, varchar, varchar, numeric)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    c_id integer := $5; last varchar := $8; credit char(2) := $9; balance numeric := $10;
    v varchar; c bpchar; since timestamp; n numeric;
BEGIN
    CALL behind.payment($1, $2, $3, $4, $6, $7, credit, last, c_id, v, v, v, c, c, v, v, v, c, c, v, c, v, v, v, c, c, c,
                        since, n, n, balance, v, localtimestamp);
    RETURN c_id;
END $$;

CREATE FUNCTION delivery(integer, integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    CALL behind.delivery($1, $2, localtimestamp);
    RETURN 1;
END $$;

CREATE FUNCTION ostat(integer, integer, integer, integer, varchar) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
    line record;
    who record;
BEGIN
    SELECT * INTO who FROM customer
    WHERE c_w_id = $1 AND c_d_id = $2 AND CASE WHEN $4 = 1 THEN c_last = $5 ELSE c_id = $3 END
    ORDER BY c_first LIMIT 1;
    FOR line IN
        SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount::numeric, ol_delivery_d, who.c_id, who.c_last,
               who.c_first, who.c_middle::varchar, who.c_balance::numeric, o_id, o_entry_d::timestamp,
               o_carrier_id::integer
        FROM (SELECT * FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = who.c_id ORDER BY o_id DESC LIMIT 1)
             AS newest
        JOIN order_line ON ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = o_id
    LOOP
        RETURN NEXT line;
    END LOOP;
END $$;

CREATE FUNCTION slev(integer, integer, integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    found integer;
BEGIN
    CALL behind.slev($1, $2, $3, found);
    RETURN found;
END $$;
