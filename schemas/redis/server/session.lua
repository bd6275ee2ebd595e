-- What a session asks its server.

-- name: product
-- Valkey states its own version, and the version of Redis that it follows.
local server = call("INFO", "server")
local valkey = string.match(server, "valkey_version:(%S+)")
return { { valkey and "Valkey" or "Redis", valkey or string.match(server, "redis_version:(%S+)") } }

-- name: role
local role = string.match(call("INFO", "replication"), "role:(%w+)")
return { { role == "master" and "primary" or "standby" } }

-- name: clock
-- returns: seconds(1000000)
return { { now() } }

-- name: long_answer
-- Of long pieces, as Lua 5.1 repeats a character in 10 ns; the size is a multiple of theirs.
-- parameters: size
return { { string.rep(string.rep("x", 4096), size / 4096) } }

-- name: free_connections
local clients = call("INFO", "clients")
return { { string.match(clients, "maxclients:(%d+)") - string.match(clients, "connected_clients:(%d+)") } }

-- name: footprint
-- The memory in use. Without a limit, the server may use all of its host.
local memory = call("INFO", "memory")
local limit = tonumber(string.match(memory, "maxmemory:(%d+)"))
if limit == 0 then
    limit = tonumber(string.match(memory, "total_system_memory:(%d+)"))
end
return { { string.match(memory, "used_memory:(%d+)"), "maxmemory", string.format("%.0f", limit) } }

-- name: process
-- The server's process, and how long it has been running.
local server = call("INFO", "server")
return { { string.match(server, "process_id:(%d+)"), string.match(server, "uptime_in_seconds:(%d+)") } }

-- name: counters
-- Commands, not commits: a server without transactions counts none. Functions are the calls of FCALL. Times are in
-- microseconds: of the event loop, of all commands in it, and of each command; a sync is delayed while another one runs.
local found = {}
local function add(section, names)
    local text = call("INFO", section)
    for name, field in pairs(names) do
        local value = string.match(text, "%f[%w]" .. field .. ":([%d.]+)")
        if value then
            found[#found + 1] = { name, value }
        end
    end
end
add("server", { uptime_s = "uptime_in_seconds" })
add("clients", { connected_clients = "connected_clients", blocked_clients = "blocked_clients" })
add("memory", { used_memory_bytes = "used_memory" })
add("stats", {
    commands = "total_commands_processed",
    received_bytes = "total_net_input_bytes",
    sent_bytes = "total_net_output_bytes",
    event_loop_us = "eventloop_duration_sum",
    command_us = "eventloop_duration_cmd_sum",
    expired_keys = "expired_keys",
    evicted_keys = "evicted_keys",
    keyspace_hits = "keyspace_hits",
    keyspace_misses = "keyspace_misses",
})
add("persistence", {
    changes_since_save = "rdb_changes_since_last_save",
    log_bytes = "aof_current_size",
    delayed_syncs = "aof_delayed_fsync",
    snapshots = "rdb_saves",
    log_rewrites = "aof_rewrites",
})
add("cpu", { cpu_user_s = "used_cpu_user", cpu_system_s = "used_cpu_sys" })
for name, us in string.gmatch(call("INFO", "commandstats"), "cmdstat_([^:]+):calls=%d+,usec=(%d+)") do
    found[#found + 1] = { "time_of_" .. string.gsub(name, "%W", "_") .. "_us", us }
end
local functions = string.match(call("INFO", "commandstats"), "cmdstat_fcall:calls=(%d+)")
found[#found + 1] = { "functions", functions or 0 }
return found

-- name: remove_keys
-- Removes a page of the schema's keys on a node, but the record of the build; the next cursor, 0 at the end.
-- parameters: cursor
local record = {}
for _, name in ipairs({ "tables", "parts", "build", "claim" }) do
    record[common .. name] = true
end
local page = call("SCAN", cursor, "MATCH", prefix .. "*", "COUNT", 5000)
for _, key in ipairs(page[2]) do
    if not record[key] then
        call("UNLINK", key)
    end
end
return { { page[1] } }
