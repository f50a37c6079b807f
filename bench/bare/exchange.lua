-- ARGV: now, token, lease in ms, how many to fetch, then id and result of each finished job.
local root, now, token, lease = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local events, active, completed = root .. "events", root .. "active", root .. "completed"
if #ARGV > 4 then
  redis.call("XTRIM", events, "MAXLEN", "~", "10000")
end
for i = 5, #ARGV, 2 do
  local id, result = ARGV[i], ARGV[i + 1]
  redis.call("LREM", active, -1, id)
  redis.call("DEL", root .. id .. ":lock")
  redis.call("ZADD", completed, now, id)
  redis.call("HSET", root .. id, "atm", "1", "returnvalue", result, "finishedOn", now)
  redis.call("XADD", events, "*", "event", "completed", "jobId", id, "returnvalue", result, "prev", "active")
end
local jobs = {}
for i = 1, tonumber(ARGV[4]) do
  local id = redis.call("LMOVE", root .. "wait", active, "RIGHT", "LEFT")
  if not id then
    break
  end
  redis.call("SET", root .. id .. ":lock", token, "PX", lease)
  redis.call("XADD", events, "*", "event", "active", "jobId", id, "prev", "waiting")
  redis.call("HSET", root .. id, "processedOn", now, "ats", "1")
  jobs[i] = { id, redis.call("HGETALL", root .. id) }
end
if #jobs == 0 then
  redis.call("XADD", events, "*", "event", "drained")
else
  redis.call("ZADD", root .. "marker", "0", "0")
end
return jobs
