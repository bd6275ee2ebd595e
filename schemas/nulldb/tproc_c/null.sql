-- What the null engine must know of the workload; the forms are described in hdbkit/databases/_null_texts.py.

-- name: count_new_orders
-- The next order ids of a warehouse add up to 30,010 after its build.
30010 * warehouses + commits(call_new_order)

-- name: call_new_order
-- Items beyond the last are the unused one (TPC-C 2.4.1.5).
(:w_id, :d_id, :c_id, :item_ids, :supply_w_ids, :quantities) ROLLBACK IF :item_ids > 100000
