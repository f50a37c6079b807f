-- ARGV: now, then name, data, options of each job.
local root, now = KEYS[1], ARGV[1]
local events = root .. "events"
for i = 2, #ARGV, 3 do
  local id = redis.call("INCR", root .. "id")
  redis.call("HSET", root .. id, "name", ARGV[i], "data", ARGV[i + 1], "opts", ARGV[i + 2], "timestamp", now, "delay", "0", "priority", "0")
  redis.call("XADD", events, "*", "event", "added", "jobId", id, "name", ARGV[i])
  redis.call("LPUSH", root .. "wait", id)
  redis.call("XADD", events, "MAXLEN", "~", "10000", "*", "event", "waiting", "jobId", id)
end
redis.call("ZADD", root .. "marker", "0", "0")
