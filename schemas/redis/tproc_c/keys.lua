-- name: keys
-- How keys and packed rows are read; tables.commands describes them.
local function of(w_id)
    return prefix .. "{w" .. w_id .. "}:"
end

local function named(w_id, d_id, c_last)
    local found = call("ZRANGEBYLEX", of(w_id) .. "customer_by_name:" .. d_id, "[" .. c_last .. ",", "(" .. c_last .. "-")
    if #found == 0 then
        fail("there is no customer " .. c_last .. " in district " .. d_id .. " of warehouse " .. w_id)
    end
    return string.match(found[math.floor((#found + 1) / 2)], "(%d+)$")
end

local function order_of(text)
    return string.match(text, "^(%d*)|(%d*)|(%d*)|(%d*)|(%d*)$")
end

local function line_of(text)
    return string.match(text, "^(%d*)|(%d*)|(%d*)|(%-?%d*)|(%-?%d*)|(.*)$")
end

local function payment_of(text)
    return string.match(text, "^(%d*)|(%d*)|(%d*)|(%d*)|(%-?%d*)|(.*)$")
end

-- The lines of an order, by number.
local function lines_of(w_id, d_id, o_id, count)
    local fields = {}
    for number = 1, count do
        fields[number] = o_id .. ":" .. number
    end
    return call("HMGET", of(w_id) .. "order_line:" .. d_id, unpack(fields)), fields
end

-- The members of a set of numbers, in order, from low to high.
local function sorted(key, low, high)
    local found = {}
    for _, member in ipairs(call("SMEMBERS", key)) do
        local number = tonumber(member)
        if (not low or number >= tonumber(low)) and (not high or number <= tonumber(high)) then
            found[#found + 1] = number
        end
    end
    table.sort(found)
    return found
end

-- The numbers of the warehouses on this node, in order, from low to high.
local function warehouses(low, high)
    local found = {}
    for _, w_id in ipairs(sorted(common .. "warehouse", low, high)) do
        if is_here(of(w_id) .. "warehouse") then
            found[#found + 1] = w_id
        end
    end
    return found
end

-- Calls visit(w_id, d_id, keys of its warehouse) for each district.
local function each_district(low, high, visit)
    for _, w_id in ipairs(warehouses(low, high)) do
        for _, d_id in ipairs(sorted(of(w_id) .. "district")) do
            visit(w_id, d_id, of(w_id))
        end
    end
end

-- Calls visit(field, value) for each field of a hash.
local function each_field(key, visit)
    local cursor = "0"
    repeat
        local page = call("HSCAN", key, cursor, "COUNT", 5000)
        cursor = page[1]
        for i = 1, #page[2], 2 do
            visit(page[2][i], page[2][i + 1])
        end
    until cursor == "0"
end

-- Calls visit(row) for each payment of a district.
local function each_payment(key, visit)
    local length = call("LLEN", key)
    for first = 0, length - 1, 5000 do
        for _, row in ipairs(call("LRANGE", key, first, first + 4999)) do
            visit(row)
        end
    end
end

-- Calls visit(number, key) for each customer of a district, by name.
local function each_customer(here, d_id, visit)
    for _, member in ipairs(call("ZRANGE", here .. "customer_by_name:" .. d_id, 0, -1)) do
        local c_id = tonumber(string.match(member, "(%d+)$"))
        visit(c_id, here .. "customer:" .. d_id .. ":" .. c_id)
    end
end

-- The numbers of the items of which there is a key; the unused item, 100001, has none. A thousand keys are asked at once.
local function existing(keys)
    local found = {}
    for first = 1, 100001, 1000 do
        local asked = {}
        for i_id = first, math.min(first + 999, 100001) do
            asked[#asked + 1] = keys .. i_id
        end
        local count = call("EXISTS", unpack(asked))
        for i, key in ipairs(count > 0 and asked or {}) do
            if count == #asked or call("EXISTS", key) == 1 then
                found[#found + 1] = first + i - 1
            end
        end
    end
    return found
end

-- By the key of a customer, the amount of the delivered lines.
local function delivered_amounts(w_low, w_high)
    local sums = {}
    each_district(w_low, w_high, function(_, d_id, here)
        local amounts = {}
        each_field(here .. "order_line:" .. d_id, function(field, text)
            local delivered, amount = string.match(text, "^%d*|%d*|(%d*)|%-?%d*|(%-?%d*)|")
            if delivered ~= "" and amount ~= "0" then
                local o_id = string.match(field, "^%d+")
                amounts[o_id] = (amounts[o_id] or 0) + amount
            end
        end)
        each_field(here .. "orders:" .. d_id, function(o_id, text)
            if amounts[o_id] then
                local customer = here .. "customer:" .. d_id .. ":" .. order_of(text)
                sums[customer] = (sums[customer] or 0) + amounts[o_id]
            end
        end)
    end)
    return sums
end

-- How many customers have another sum of these fields than in "sums".
local function customers_unlike(w_low, w_high, sums, ...)
    local broken, fields = 0, { ... }
    each_district(w_low, w_high, function(_, d_id, here)
        each_customer(here, d_id, function(_, key)
            local sum = 0
            for _, value in ipairs(call("HMGET", key, unpack(fields))) do
                sum = sum + value
            end
            if sum ~= (sums[key] or 0) then
                broken = broken + 1
            end
            sums[key] = nil
        end)
    end)
    for _, sum in pairs(sums) do
        if sum ~= 0 then
            broken = broken + 1
        end
    end
    return broken
end
