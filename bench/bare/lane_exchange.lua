-- ARGV: now, token, lease in ms, how many to fetch, then id, result and lane of each finished job.
-- Whatever takes several jobs in one command is given all of them at once.
local root, now, token, lease = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local call = redis.call
local events, active, wait, out = root .. "events", root .. "active", root .. "wait", root .. "meta:lane-out"

local locks, entries, ended = {}, {}, 0
local released, outs, emptied = {}, {}, {}
for i = 5, #ARGV, 3 do
  local id, result, lane = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  ended = ended + 1
  locks[ended], entries[2 * ended - 1], entries[2 * ended] = root .. id .. ":lock", now, id
  call("LREM", active, "-1", id)
  call("HSET", root .. id, "atm", "1", "returnvalue", result, "finishedOn", now)
  call("XADD", events, "*", "event", "completed", "jobId", id, "returnvalue", result, "prev", "active")
  local next_id = call("LPOP", root .. "meta:line:" .. lane)
  if next_id then
    released[#released + 1] = next_id
    outs[#outs + 1], outs[#outs + 2] = lane, next_id
  else
    emptied[#emptied + 1] = lane
  end
end
if ended > 0 then
  call("DEL", unpack(locks))
  call("ZADD", root .. "completed", unpack(entries))
  call("XTRIM", events, "MAXLEN", "~", "10000")
end
if #released > 0 then
  call("LPUSH", wait, unpack(released))
  call("HSET", out, unpack(outs))
  call("ZREM", root .. "de", unpack(released))
end
if #emptied > 0 then
  call("HDEL", out, unpack(emptied))
  call("ZREM", root .. "meta:lanes", unpack(emptied))
end

local ids = call("LRANGE", wait, -ARGV[4], "-1")
local jobs, count = {}, #ids
for i = count, 1, -1 do
  local id = ids[i]
  call("SET", root .. id .. ":lock", token, "PX", lease)
  call("XADD", events, "*", "event", "active", "jobId", id, "prev", "waiting")
  jobs[#jobs + 1], jobs[#jobs + 2] = id, call("HGETALL", root .. id)
  call("HSET", root .. id, "processedOn", now, "ats", "1")
end
if count == 0 then
  call("XADD", events, "*", "event", "drained")
  return "[]"
end
call("LPUSH", active, unpack(ids))
call("LTRIM", wait, "0", -count - 1)
call("ZADD", root .. "marker", "0", "0")
return cjson.encode(jobs)
