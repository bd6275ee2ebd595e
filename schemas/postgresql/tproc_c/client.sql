-- name: client_lock_deliveries
-- Serializes deliveries of a warehouse; the routine takes the same lock.
SELECT pg_advisory_xact_lock(hashtext('tproc_c delivery'), :w_id);

-- name: client_insert_order_lines
-- All lines of an order.
INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                        ol_dist_info)
SELECT :w_id, :d_id, :o_id, line.*
FROM unnest(CAST(:numbers AS SMALLINT[]), CAST(:i_ids AS INTEGER[]), CAST(:supply_w_ids AS INTEGER[]),
            CAST(:quantities AS SMALLINT[]), CAST(:amounts AS NUMERIC[]), CAST(:dist_infos AS TEXT[])) AS line;
