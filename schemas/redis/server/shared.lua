-- What every script begins with. A script is the body of a function of its parameters, which are texts; null is an
-- empty text, an array is its values with commas between them. It returns rows, or nil if its work was rolled back by
-- design; the reply is JSON. "prefix" is what the keys of the schema begin with, and "common" what those without a hash tag
-- begin with: in a cluster, each node has them under a tag of its own.

-- name: shared
local function call(...)
    return redis.call(...)
end

-- Whether a key exists, and is on this node.
local function is_here(key)
    return redis.pcall("EXISTS", key) == 1
end

local function fail(reason)
    error({ err = "ERR " .. reason })
end

local function numbers(text)
    local found = {}
    for number in string.gmatch(text, "[^,]+") do
        found[#found + 1] = tonumber(number)
    end
    return found
end

-- A decimal text such as 12.5 as whole cents.
local function cents(text)
    local whole, fraction = string.match(text, "^(%-?%d+)%.?(%d*)$")
    return whole and tonumber(whole .. string.sub(fraction .. "00", 1, 2)) or fail("not an amount: " .. text)
end

-- Microseconds since 1970, as a text: a number in JSON has 14 digits here.
local function now()
    local time = call("TIME")
    return time[1] .. string.format("%06d", time[2])
end

local function reply(rows)
    return rows and cjson.encode(rows)
end
