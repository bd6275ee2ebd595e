-- Description of the workload for the null engine; see hdbkit/databases/nulldb/texts.py.

-- name: count_new_orders
-- After the build, the next order ids of a warehouse add up to 30,010.
30010 * warehouses + commits(call_new_order)

-- name: call_new_order
-- Item numbers above the last item mean the unused item (TPC-C 2.4.1.5).
(:w_id, :d_id, :c_id, :item_ids, :supply_w_ids, :quantities) ROLLBACK IF :item_ids > 100000
