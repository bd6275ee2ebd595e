-- name: client_insert_history
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data, h_id)
SELECT {{typed(:c_id, {{integer}})}}, {{typed(:c_d_id, {{smallint}})}}, {{typed(:c_w_id, {{integer}})}}, d_id, w_id, {{now}},
       {{typed(:h_amount, {{decimal(6, 2)}})}}, {{concat(w_name, {{concat('    ', d_name)}})}}, history_ids.NEXTVAL
FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = :w_id AND d_id = :d_id;

-- name: client_count_low_stock
-- A predicate may have one subquery, so the range is two of them.
SELECT count(*)
FROM (SELECT DISTINCT ol_i_id FROM order_line
      WHERE ol_w_id = :w_id AND ol_d_id = :d_id
        AND ol_o_id >= (SELECT d_next_o_id - 20 FROM district WHERE d_w_id = :w_id AND d_id = :d_id)
        AND ol_o_id < (SELECT d_next_o_id FROM district WHERE d_w_id = :w_id AND d_id = :d_id)) recent
JOIN stock ON s_w_id = :w_id AND s_i_id = ol_i_id
WHERE s_quantity < :threshold;
