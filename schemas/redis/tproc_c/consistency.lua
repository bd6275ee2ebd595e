-- The consistency conditions of TPC-C 3.3.2, over the warehouses w_low to w_high. Each returns one row with the number of
-- warehouses, districts, customers, orders or lines that violate it.

-- name: consistency_01
-- 3.3.2.1: w_ytd is the sum of its districts' d_ytd.
-- parameters: w_low, w_high
-- nodes: sum
local sums = {}
each_district(w_low, w_high, function(w_id, d_id, here)
    sums[w_id] = (sums[w_id] or 0) + call("HGET", here .. "district:" .. d_id, "d_ytd")
end)
local broken = 0
for _, w_id in ipairs(warehouses(w_low, w_high)) do
    if tonumber(call("HGET", of(w_id) .. "warehouse", "w_ytd")) ~= (sums[w_id] or 0) then
        broken = broken + 1
    end
end
return { { broken } }

-- name: consistency_02
-- 3.3.2.2: d_next_o_id - 1 is the district's highest order, and its highest new order where it has any.
-- parameters: w_low, w_high
-- nodes: sum
local broken = 0
each_district(w_low, w_high, function(_, d_id, here)
    local last, highest = call("HGET", here .. "district:" .. d_id, "d_next_o_id") - 1, 0
    each_field(here .. "orders:" .. d_id, function(o_id)
        highest = math.max(highest, tonumber(o_id))
    end)
    local newest = call("ZRANGE", here .. "new_order:" .. d_id, -1, -1)[1]
    if last ~= highest or (newest and tonumber(newest) ~= last) then
        broken = broken + 1
    end
end)
return { { broken } }

-- name: consistency_03
-- 3.3.2.3: the new orders of a district are numbered without a gap.
-- parameters: w_low, w_high
-- nodes: sum
local broken = 0
each_district(w_low, w_high, function(_, d_id, here)
    local key = here .. "new_order:" .. d_id
    local first, last = call("ZRANGE", key, 0, 0)[1], call("ZRANGE", key, -1, -1)[1]
    if first and last - first + 1 ~= call("ZCARD", key) then
        broken = broken + 1
    end
end)
return { { broken } }

-- name: consistency_04
-- 3.3.2.4: the number of order lines of a district is the sum of its orders' o_ol_cnt.
-- parameters: w_low, w_high
-- nodes: sum
local broken = 0
each_district(w_low, w_high, function(_, d_id, here)
    local stated = 0
    each_field(here .. "orders:" .. d_id, function(_, text)
        stated = stated + select(4, order_of(text))
    end)
    if stated ~= call("HLEN", here .. "order_line:" .. d_id) then
        broken = broken + 1
    end
end)
return { { broken } }

-- name: consistency_05
-- 3.3.2.5: an order has no carrier exactly while it is a new order; a new order is an order.
-- parameters: w_low, w_high
-- nodes: sum
local broken = 0
each_district(w_low, w_high, function(_, d_id, here)
    local waiting = {}
    for _, o_id in ipairs(call("ZRANGE", here .. "new_order:" .. d_id, 0, -1)) do
        waiting[o_id] = true
    end
    each_field(here .. "orders:" .. d_id, function(o_id, text)
        if (select(3, order_of(text)) == "") ~= (waiting[o_id] or false) then
            broken = broken + 1
        end
        waiting[o_id] = nil
    end)
    for _ in pairs(waiting) do
        broken = broken + 1
    end
end)
return { { broken } }

-- name: consistency_06
-- 3.3.2.6: each order has o_ol_cnt lines; each line has an order.
-- parameters: w_low, w_high
-- nodes: sum
local broken = 0
each_district(w_low, w_high, function(_, d_id, here)
    local counted = {}
    each_field(here .. "order_line:" .. d_id, function(field)
        local o_id = string.match(field, "^%d+")
        counted[o_id] = (counted[o_id] or 0) + 1
    end)
    each_field(here .. "orders:" .. d_id, function(o_id, text)
        if tonumber((select(4, order_of(text)))) ~= (counted[o_id] or 0) then
            broken = broken + 1
        end
        counted[o_id] = nil
    end)
    for _ in pairs(counted) do
        broken = broken + 1
    end
end)
return { { broken } }

-- name: consistency_07
-- 3.3.2.7: a line has no delivery date exactly while its order has no carrier.
-- parameters: w_low, w_high
-- nodes: sum
local broken = 0
each_district(w_low, w_high, function(_, d_id, here)
    local undelivered = {}
    each_field(here .. "orders:" .. d_id, function(o_id, text)
        undelivered[o_id] = select(3, order_of(text)) == ""
    end)
    each_field(here .. "order_line:" .. d_id, function(field, text)
        local of_order = undelivered[string.match(field, "^%d+")]
        if of_order ~= nil and of_order ~= (select(3, line_of(text)) == "") then
            broken = broken + 1
        end
    end)
end)
return { { broken } }

-- name: consistency_08
-- 3.3.2.8: w_ytd is the sum of the payments made in the warehouse.
-- parameters: w_low, w_high
-- nodes: sum
local paid, broken = {}, 0
each_district(w_low, w_high, function(w_id, d_id, here)
    each_payment(here .. "history:" .. d_id, function(row)
        paid[w_id] = (paid[w_id] or 0) + select(5, payment_of(row))
    end)
end)
for _, w_id in ipairs(warehouses(w_low, w_high)) do
    if tonumber(call("HGET", of(w_id) .. "warehouse", "w_ytd")) ~= (paid[w_id] or 0) then
        broken = broken + 1
    end
end
return { { broken } }

-- name: consistency_09
-- 3.3.2.9: d_ytd is the sum of the payments made in the district.
-- parameters: w_low, w_high
-- nodes: sum
local broken = 0
each_district(w_low, w_high, function(_, d_id, here)
    local paid = 0
    each_payment(here .. "history:" .. d_id, function(row)
        paid = paid + select(5, payment_of(row))
    end)
    if tonumber(call("HGET", here .. "district:" .. d_id, "d_ytd")) ~= paid then
        broken = broken + 1
    end
end)
return { { broken } }

-- name: consistency_10
-- 3.3.2.10: c_balance is the amount of the customer's delivered lines less the payments, which any warehouse takes.
-- parameters: w_low, w_high
-- nodes: sum
local sums, low, high = delivered_amounts(w_low, w_high), tonumber(w_low), tonumber(w_high)
each_district(nil, nil, function(_, d_id, here)
    each_payment(here .. "history:" .. d_id, function(row)
        local c_w_id, c_d_id, c_id, _, amount = payment_of(row)
        if tonumber(c_w_id) >= low and tonumber(c_w_id) <= high then
            local customer = of(c_w_id) .. "customer:" .. c_d_id .. ":" .. c_id
            sums[customer] = (sums[customer] or 0) - amount
        end
    end)
end)
return { { customers_unlike(w_low, w_high, sums, "c_balance") } }

-- name: consistency_11
-- 3.3.2.11 after deliveries: orders less new orders are the 2100 of the population and those delivered since.
-- parameters: w_low, w_high
-- nodes: sum
local broken = 0
each_district(w_low, w_high, function(_, d_id, here)
    local delivered = 0
    each_customer(here, d_id, function(_, key)
        delivered = delivered + call("HGET", key, "c_delivery_cnt")
    end)
    if call("HLEN", here .. "orders:" .. d_id) - call("ZCARD", here .. "new_order:" .. d_id) ~= 2100 + delivered then
        broken = broken + 1
    end
end)
return { { broken } }

-- name: consistency_12
-- 3.3.2.12: c_balance + c_ytd_payment is the amount of the customer's delivered lines.
-- parameters: w_low, w_high
-- nodes: sum
return { { customers_unlike(w_low, w_high, delivered_amounts(w_low, w_high), "c_balance", "c_ytd_payment") } }

-- name: consistency_stock
-- The specification has no condition on stock. The population sets these columns to 0 and has orders 1 to 3000, so
-- s_ytd, s_order_cnt and s_remote_cnt are sums over later lines. All warehouses together: lines refer to any of them.
-- nodes: sum
local sums, broken = {}, 0
each_district(nil, nil, function(w_id, d_id, here)
    each_field(here .. "order_line:" .. d_id, function(field, text)
        if tonumber(string.match(field, "^%d+")) > 3000 then
            local _, supply_w_id, _, quantity = line_of(text)
            local sum = sums[tonumber(supply_w_id)] or { 0, 0, 0 }
            sums[tonumber(supply_w_id)] = sum
            sum[1], sum[2] = sum[1] + quantity, sum[2] + 1
            sum[3] = sum[3] + (tonumber(supply_w_id) ~= w_id and 1 or 0)
        end
    end)
end)
for _, w_id in ipairs(warehouses()) do
    local sum = sums[w_id] or { 0, 0, 0 }
    for _, i_id in ipairs(existing(of(w_id) .. "stock:")) do
        local counted = call("HMGET", of(w_id) .. "stock:" .. i_id, "s_ytd", "s_order_cnt", "s_remote_cnt")
        for i = 1, 3 do
            sum[i] = sum[i] - counted[i]
        end
    end
    if sum[1] ~= 0 or sum[2] ~= 0 or sum[3] ~= 0 then
        broken = broken + 1
    end
end
return { { broken } }
