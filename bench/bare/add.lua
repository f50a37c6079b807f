-- ARGV: now, then name, data, options of each job.
-- Whatever takes several jobs in one command is given all of them at once.
local root, now = KEYS[1], ARGV[1]
local call = redis.call
local events, count = root .. "events", (#ARGV - 1) / 3

local last = call("INCRBY", root .. "id", count)
local ids = {}
for i = 1, count do
  local id = string.format("%d", last - count + i)
  local name, data, opts = ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1]
  ids[i] = id
  call("HSET", root .. id, "name", name, "data", data, "opts", opts, "timestamp", now, "delay", "0", "priority", "0")
  call("XADD", events, "*", "event", "added", "jobId", id, "name", name)
  call("XADD", events, "*", "event", "waiting", "jobId", id)
end
call("LPUSH", root .. "wait", unpack(ids))
call("XTRIM", events, "MAXLEN", "~", "10000")
call("ZADD", root .. "marker", "0", "0")
