-- What is there: tables, indexes, row counts, and the order numbers.

-- name: list_tables
-- The tables of the build; an empty table has no key.
local found = {}
for _, name in ipairs(call("SMEMBERS", common .. "tables")) do
    found[#found + 1] = { name }
end
return found

-- name: list_indexes
-- Rows are found by their keys. The other two are there if each district with customers or orders has them.
-- nodes: common
local found = {}
for _, table in ipairs({ "warehouse", "district", "customer", "orders", "new_order", "order_line", "stock", "item" }) do
    found[#found + 1] = { table .. "_pk" }
end
local by_name, by_customer = true, true
each_district(nil, nil, function(_, d_id, here)
    by_name = by_name and call("EXISTS", here .. "customer_by_name:" .. d_id) == 1
    by_customer = by_customer
        and call("EXISTS", here .. "orders:" .. d_id) == call("EXISTS", here .. "orders_by_customer:" .. d_id)
end)
if by_name then
    found[#found + 1] = { "customer_by_name" }
end
if by_customer then
    found[#found + 1] = { "orders_by_customer" }
end
return found

-- name: count_warehouse
-- nodes: sum
return { { #warehouses() } }

-- name: count_district
-- nodes: sum
local count = 0
each_district(nil, nil, function()
    count = count + 1
end)
return { { count } }

-- name: count_customer
-- nodes: sum
local count = 0
each_district(nil, nil, function(_, d_id, here)
    each_customer(here, d_id, function(_, key)
        count = count + call("EXISTS", key)
    end)
end)
return { { count } }

-- name: count_history
-- nodes: sum
local count = 0
each_district(nil, nil, function(_, d_id, here)
    count = count + call("LLEN", here .. "history:" .. d_id)
end)
return { { count } }

-- name: count_orders
-- nodes: sum
local count = 0
each_district(nil, nil, function(_, d_id, here)
    count = count + call("HLEN", here .. "orders:" .. d_id)
end)
return { { count } }

-- name: count_new_order
-- nodes: sum
local count = 0
each_district(nil, nil, function(_, d_id, here)
    count = count + call("ZCARD", here .. "new_order:" .. d_id)
end)
return { { count } }

-- name: count_order_line
-- nodes: sum
local count = 0
each_district(nil, nil, function(_, d_id, here)
    count = count + call("HLEN", here .. "order_line:" .. d_id)
end)
return { { count } }

-- name: count_stock
-- nodes: sum
local count = 0
for _, w_id in ipairs(warehouses()) do
    count = count + #existing(of(w_id) .. "stock:")
end
return { { count } }

-- name: count_item
return { { #existing(common .. "item:") } }

-- name: last_order_ids
-- Orders of a district are numbered without a gap.
-- nodes: rows
local found = {}
each_district(nil, nil, function(w_id, d_id, here)
    found[#found + 1] = { w_id, d_id, call("HGET", here .. "district:" .. d_id, "d_next_o_id") - 1 }
end)
return found

-- name: count_new_orders
-- The running total of new orders, whose growth is the throughput.
-- nodes: sum
local count = 0
each_district(nil, nil, function(_, d_id, here)
    count = count + call("HGET", here .. "district:" .. d_id, "d_next_o_id")
end)
return { { count } }
