-- ARGV: now, then name, data, options and lane of each job. The first of a lane is let out, the others rest in it.
local root, now = KEYS[1], ARGV[1]
local call = redis.call
local events, out, count = root .. "events", root .. "meta:lane-out", (#ARGV - 1) / 4

local last = call("INCRBY", root .. "id", count)
local released = {}
for i = 1, count do
  local id = string.format("%d", last - count + i)
  local name, data, opts, lane = ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i], ARGV[4 * i + 1]
  call("HSET", root .. id, "name", name, "data", data, "opts", opts, "timestamp", now, "delay", "0", "priority", "0", "lane", lane)
  call("XADD", events, "*", "event", "added", "jobId", id, "name", name)
  call("XADD", events, "*", "event", "waiting", "jobId", id, "lane", lane)
  if call("HSETNX", out, lane, id) == 1 then
    released[#released + 1] = id
  else
    call("RPUSH", root .. "meta:line:" .. lane, id)
    call("ZADD", root .. "de", now, id)
  end
  call("ZADD", root .. "meta:lanes", "NX", now, lane)
end
if #released > 0 then
  call("LPUSH", root .. "wait", unpack(released))
end
call("XTRIM", events, "MAXLEN", "~", "10000")
call("ZADD", root .. "marker", "0", "0")
