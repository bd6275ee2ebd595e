-- The five transactions. A build makes each a function of the server; call_x calls the function x. A function runs
-- alone, and nothing of it is ever undone: it reads and checks everything before it writes.

-- attempt: call_new_order
-- TPC-C 2.4.2. An unknown item rolls the order back before anything is written.
-- key: {w$w_id}
-- parameters: w_id, d_id, c_id, item_ids, supply_w_ids, quantities
-- returns: o_id(integer), o_entry_d(time), w_tax(10000), d_tax(10000), c_discount(10000), c_last, c_credit, total_amount(100), i_names, s_quantities(integer), brand_generics, i_prices(100), ol_amounts(100)
local here = of(w_id)
local i_ids, w_ids, amounts_ordered = numbers(item_ids), numbers(supply_w_ids), numbers(quantities)
local customer = call("HMGET", here .. "customer:" .. d_id .. ":" .. c_id, "c_discount", "c_last", "c_credit")
local district = call("HMGET", here .. "district:" .. d_id, "d_tax", "d_next_o_id")
local w_tax = call("HGET", here .. "warehouse", "w_tax")
if not (customer[1] and district[1] and w_tax) then
    fail("there is no customer " .. c_id .. " in district " .. d_id .. " of warehouse " .. w_id)
end
local d_tax, o_id = district[1], tonumber(district[2])

local dist = string.format("s_dist_%02d", d_id)
local items, stocks, keys = {}, {}, {}
for number, i_id in ipairs(i_ids) do
    local key = of(w_ids[number]) .. "stock:" .. i_id
    items[number] = call("HMGET", common .. "item:" .. i_id, "i_name", "i_price", "i_data")
    stocks[key] = stocks[key] or call("HMGET", key, "s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt", "s_data", dist)
    keys[number] = key
    if not (items[number][1] and stocks[key][1]) then
        return nil
    end
end

local names, left, brands, prices, amounts, lines = {}, {}, {}, {}, {}, {}
local total, all_local, home = 0, 1, tonumber(w_id)
for number, item in ipairs(items) do
    local stock, quantity, price = stocks[keys[number]], amounts_ordered[number], tonumber(item[2])
    local rest, remote = stock[1] - quantity, 0
    if rest < 10 then
        rest = rest + 91
    end
    if w_ids[number] ~= home then
        remote, all_local = 1, 0
    end
    stock[1], stock[2], stock[3], stock[4] = rest, stock[2] + quantity, stock[3] + 1, stock[4] + remote
    local original = string.find(item[3], "ORIGINAL", 1, true) and string.find(stock[5], "ORIGINAL", 1, true)
    names[number], left[number], brands[number] = item[1], rest, original and "B" or "G"
    prices[number], amounts[number] = price, quantity * price
    total = total + quantity * price
    lines[#lines + 1] = o_id .. ":" .. number
    lines[#lines + 1] = i_ids[number] .. "|" .. w_ids[number] .. "||" .. quantity .. "|" .. quantity * price .. "|" .. stock[6]
end

local entered = now()
for key, stock in pairs(stocks) do
    call("HSET", key, "s_quantity", stock[1], "s_ytd", stock[2], "s_order_cnt", stock[3], "s_remote_cnt", stock[4])
end
call("HSET", here .. "district:" .. d_id, "d_next_o_id", o_id + 1)
call("HSET", here .. "orders:" .. d_id, o_id, c_id .. "|" .. entered .. "||" .. #i_ids .. "|" .. all_local)
call("HSET", here .. "orders_by_customer:" .. d_id, c_id, o_id)
call("ZADD", here .. "new_order:" .. d_id, o_id, o_id)
call("HSET", here .. "order_line:" .. d_id, unpack(lines))

total = math.floor((total * (10000 - customer[1]) * (10000 + w_tax + d_tax) + 50000000) / 100000000)
return { { o_id, entered, w_tax, d_tax, customer[1], customer[2], customer[3], total, names, left, brands, prices, amounts } }

-- name: call_payment
-- TPC-C 2.5.2. By name: of the n customers ordered by first name the one at n/2, rounded up.
-- key: {w$w_id}
-- parameters: w_id, d_id, c_w_id, c_d_id, c_id, c_last, h_amount
-- returns: c_id(integer), c_first, c_middle, c_last, w_street_1, w_street_2, w_city, w_state, w_zip, d_street_1, d_street_2, d_city, d_state, d_zip, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since(time), c_credit, c_credit_lim(100), c_discount(10000), c_balance(100), c_data, h_date(time)
local amount = cents(h_amount)
if c_id == "" then
    c_id = named(c_w_id, c_d_id, c_last)
end
local here, there = of(w_id), of(c_w_id)
local customer = there .. "customer:" .. c_d_id .. ":" .. c_id
local c = call(
    "HMGET", customer, "c_first", "c_middle", "c_last", "c_street_1", "c_street_2", "c_city", "c_state", "c_zip",
    "c_phone", "c_since", "c_credit", "c_credit_lim", "c_discount"
)
local d = call(
    "HMGET", here .. "district:" .. d_id, "d_name", "d_street_1", "d_street_2", "d_city", "d_state", "d_zip"
)
local w = call("HMGET", here .. "warehouse", "w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip")
if not (c[1] and d[1] and w[1]) then
    fail("there is no customer " .. c_id .. " in district " .. c_d_id .. " of warehouse " .. c_w_id)
end

local shown, paid_at = cjson.null, now()
if c[11] == "BC" then
    local key = there .. "customer_data:" .. c_d_id .. ":" .. c_id
    local note = table.concat({ c_id, c_d_id, c_w_id, d_id, w_id, h_amount }, " ") .. " | "
    local data = string.sub(note .. call("GET", key), 1, 500)
    call("SET", key, data)
    shown = string.sub(data, 1, 200)
end
local balance = call("HINCRBY", customer, "c_balance", -amount)
call("HINCRBY", customer, "c_ytd_payment", amount)
call("HINCRBY", customer, "c_payment_cnt", 1)
call("HINCRBY", here .. "district:" .. d_id, "d_ytd", amount)
call("HINCRBY", here .. "warehouse", "w_ytd", amount)
call(
    "RPUSH", here .. "history:" .. d_id,
    table.concat({ c_w_id, c_d_id, c_id, paid_at, amount, w[1] .. "    " .. d[1] }, "|")
)
return { {
    c_id, c[1], c[2], c[3], w[2], w[3], w[4], w[5], w[6], d[2], d[3], d[4], d[5], d[6],
    c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11], c[12], c[13], balance, shown, paid_at,
} }

-- name: call_order_status
-- TPC-C 2.6.2: a customer's balance and last order.
-- key: {w$w_id}
-- parameters: w_id, d_id, c_id, c_last
-- returns: c_id(integer), c_first, c_middle, c_last, c_balance(100), o_id(integer), o_entry_d(time), o_carrier_id(integer), ol_i_ids(integer), ol_supply_w_ids(integer), ol_quantities(integer), ol_amounts(100), ol_delivery_ds(time)
if c_id == "" then
    c_id = named(w_id, d_id, c_last)
end
local here = of(w_id)
local c = call("HMGET", here .. "customer:" .. d_id .. ":" .. c_id, "c_first", "c_middle", "c_last", "c_balance")
local o_id = call("HGET", here .. "orders_by_customer:" .. d_id, c_id)
if not (c[1] and o_id) then
    fail("there is no customer " .. c_id .. " with an order in district " .. d_id .. " of warehouse " .. w_id)
end
local _, entered, carrier, count = order_of(call("HGET", here .. "orders:" .. d_id, o_id))
local i_ids, w_ids, quantities, amounts, delivered = {}, {}, {}, {}, {}
for number, text in ipairs(lines_of(w_id, d_id, o_id, tonumber(count))) do
    i_ids[number], w_ids[number], delivered[number], quantities[number], amounts[number] = line_of(text)
end
return { { c_id, c[1], c[2], c[3], c[4], o_id, entered, carrier, i_ids, w_ids, quantities, amounts, delivered } }

-- name: call_delivery
-- TPC-C 2.7.4: the oldest undelivered order of each district.
-- key: {w$w_id}
-- parameters: w_id, o_carrier_id
-- returns: d_ids(integer), o_ids(integer)
local here, found = of(w_id), {}
for d_id = 1, 10 do
    local o_id = call("ZRANGE", here .. "new_order:" .. d_id, 0, 0)[1]
    if o_id then
        local text = call("HGET", here .. "orders:" .. d_id, o_id) or fail("there is no order " .. o_id)
        local c_id, entered, _, count, all_local = order_of(text)
        local lines, fields = lines_of(w_id, d_id, o_id, tonumber(count))
        found[#found + 1] = { d_id, o_id, c_id, entered, count, all_local, lines, fields }
    end
end

local d_ids, o_ids, at = {}, {}, now()
for i, one in ipairs(found) do
    local d_id, o_id, c_id, entered, count, all_local, lines, fields = unpack(one)
    local written, total = {}, 0
    for number, text in ipairs(lines) do
        local i_id, supply_w_id, _, quantity, amount, dist_info = line_of(text)
        written[#written + 1] = fields[number]
        written[#written + 1] = i_id .. "|" .. supply_w_id .. "|" .. at .. "|" .. quantity .. "|" .. amount .. "|" .. dist_info
        total = total + amount
    end
    call("ZREM", here .. "new_order:" .. d_id, o_id)
    call("HSET", here .. "orders:" .. d_id, o_id, table.concat({ c_id, entered, o_carrier_id, count, all_local }, "|"))
    call("HSET", here .. "order_line:" .. d_id, unpack(written))
    local customer = here .. "customer:" .. d_id .. ":" .. c_id
    call("HINCRBY", customer, "c_balance", total)
    call("HINCRBY", customer, "c_delivery_cnt", 1)
    d_ids[i], o_ids[i] = d_id, o_id
end
if #found > 0 then
    call("INCR", here .. "deliveries")
end
return { { d_ids, o_ids } }

-- name: call_stock_level
-- TPC-C 2.8.2: how many items of the district's last 20 orders are low in stock.
-- key: {w$w_id}
-- parameters: w_id, d_id, threshold
-- returns: low_stock(integer)
local here = of(w_id)
local next_o_id = tonumber(call("HGET", here .. "district:" .. d_id, "d_next_o_id") or fail("there is no district " .. d_id))
local recent = {}
for o_id = next_o_id - 20, next_o_id - 1 do
    recent[#recent + 1] = o_id
end
local seen, low, limit = {}, 0, tonumber(threshold)
for i, text in ipairs(call("HMGET", here .. "orders:" .. d_id, unpack(recent))) do
    local lines = text and lines_of(w_id, d_id, recent[i], tonumber((select(4, order_of(text))))) or {}
    for _, line in ipairs(lines) do
        local i_id = string.match(line, "^%d+")
        if not seen[i_id] then
            seen[i_id] = true
            if tonumber(call("HGET", here .. "stock:" .. i_id, "s_quantity")) < limit then
                low = low + 1
            end
        end
    end
end
return { { low } }
