-- The content of a table in a fixed order: equal builds and equal work give equal contents.

-- name: content_item
-- returns: i_id(integer), i_im_id(integer), i_name, i_price(100), i_data
local found = {}
for _, i_id in ipairs(existing(common .. "item:")) do
    found[#found + 1] = { i_id, unpack(call("HMGET", common .. "item:" .. i_id, "i_im_id", "i_name", "i_price", "i_data")) }
end
return found

-- name: content_warehouse
-- returns: w_id(integer), w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax(10000), w_ytd(100)
-- nodes: rows
local found = {}
for _, w_id in ipairs(warehouses()) do
    found[#found + 1] = {
        w_id,
        unpack(call(
            "HMGET", of(w_id) .. "warehouse", "w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip",
            "w_tax", "w_ytd"
        )),
    }
end
return found

-- name: content_district
-- returns: d_id(integer), d_w_id(integer), d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax(10000), d_ytd(100), d_next_o_id(integer)
-- nodes: rows
local found = {}
each_district(nil, nil, function(w_id, d_id, here)
    found[#found + 1] = {
        d_id, w_id,
        unpack(call(
            "HMGET", here .. "district:" .. d_id, "d_name", "d_street_1", "d_street_2", "d_city", "d_state", "d_zip",
            "d_tax", "d_ytd", "d_next_o_id"
        )),
    }
end)
return found

-- name: content_stock
-- returns: s_i_id(integer), s_w_id(integer), s_quantity(integer), s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd(integer), s_order_cnt(integer), s_remote_cnt(integer), s_data
-- nodes: rows
local found = {}
for _, w_id in ipairs(warehouses()) do
    for _, i_id in ipairs(existing(of(w_id) .. "stock:")) do
        found[#found + 1] = {
            i_id, w_id,
            unpack(call(
                "HMGET", of(w_id) .. "stock:" .. i_id, "s_quantity", "s_dist_01", "s_dist_02", "s_dist_03", "s_dist_04",
                "s_dist_05", "s_dist_06", "s_dist_07", "s_dist_08", "s_dist_09", "s_dist_10", "s_ytd", "s_order_cnt",
                "s_remote_cnt", "s_data"
            )),
        }
    end
end
return found

-- name: content_customer
-- returns: c_id(integer), c_d_id(integer), c_w_id(integer), c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since(time), c_credit, c_credit_lim(100), c_discount(10000), c_balance(100), c_ytd_payment(100), c_payment_cnt(integer), c_delivery_cnt(integer), c_data
-- nodes: rows
local found = {}
each_district(nil, nil, function(w_id, d_id, here)
    local c_ids = {}
    each_customer(here, d_id, function(c_id)
        c_ids[#c_ids + 1] = c_id
    end)
    table.sort(c_ids)
    for _, c_id in ipairs(c_ids) do
        local row = call(
            "HMGET", here .. "customer:" .. d_id .. ":" .. c_id, "c_first", "c_middle", "c_last", "c_street_1",
            "c_street_2", "c_city", "c_state", "c_zip", "c_phone", "c_since", "c_credit", "c_credit_lim", "c_discount",
            "c_balance", "c_ytd_payment", "c_payment_cnt", "c_delivery_cnt"
        )
        row[#row + 1] = call("GET", here .. "customer_data:" .. d_id .. ":" .. c_id)
        found[#found + 1] = { c_id, d_id, w_id, unpack(row) }
    end
end)
return found

-- name: content_history
-- returns: h_c_id(integer), h_c_d_id(integer), h_c_w_id(integer), h_d_id(integer), h_w_id(integer), h_date(time), h_amount(100), h_data
-- nodes: rows
local found = {}
each_district(nil, nil, function(w_id, d_id, here)
    local rows = {}
    each_payment(here .. "history:" .. d_id, function(row)
        local c_w_id, c_d_id, c_id, date, amount, data = payment_of(row)
        rows[#rows + 1] = { tonumber(c_id), tonumber(c_d_id), tonumber(c_w_id), d_id, w_id, date, tonumber(amount), data }
    end)
    table.sort(rows, function(one, other)
        for _, i in ipairs({ 3, 2, 1 }) do
            if one[i] ~= other[i] then
                return one[i] < other[i]
            end
        end
        return one[7] < other[7]
    end)
    for _, row in ipairs(rows) do
        found[#found + 1] = row
    end
end)
return found

-- name: content_orders
-- returns: o_id(integer), o_d_id(integer), o_w_id(integer), o_c_id(integer), o_entry_d(time), o_carrier_id(integer), o_ol_cnt(integer), o_all_local(integer)
-- nodes: rows
local found = {}
each_district(nil, nil, function(w_id, d_id, here)
    local rows = {}
    each_field(here .. "orders:" .. d_id, function(o_id, text)
        rows[#rows + 1] = { tonumber(o_id), d_id, w_id, order_of(text) }
    end)
    table.sort(rows, function(one, other)
        return one[1] < other[1]
    end)
    for _, row in ipairs(rows) do
        found[#found + 1] = row
    end
end)
return found

-- name: content_new_order
-- returns: no_o_id(integer), no_d_id(integer), no_w_id(integer)
-- nodes: rows
local found = {}
each_district(nil, nil, function(w_id, d_id, here)
    for _, o_id in ipairs(call("ZRANGE", here .. "new_order:" .. d_id, 0, -1)) do
        found[#found + 1] = { o_id, d_id, w_id }
    end
end)
return found

-- name: content_order_line
-- returns: ol_o_id(integer), ol_d_id(integer), ol_w_id(integer), ol_number(integer), ol_i_id(integer), ol_supply_w_id(integer), ol_delivery_d(time), ol_quantity(integer), ol_amount(100), ol_dist_info
-- nodes: rows
local found = {}
each_district(nil, nil, function(w_id, d_id, here)
    local rows = {}
    each_field(here .. "order_line:" .. d_id, function(field, text)
        local o_id, number = string.match(field, "^(%d+):(%d+)$")
        rows[#rows + 1] = { tonumber(o_id), d_id, w_id, tonumber(number), line_of(text) }
    end)
    table.sort(rows, function(one, other)
        return one[1] < other[1] or (one[1] == other[1] and one[4] < other[4])
    end)
    for _, row in ipairs(rows) do
        found[#found + 1] = row
    end
end)
return found
