-- Job schedulers, as far as plain transitions meet them: the pending iteration of a scheduler is protected,
-- and a stalled iteration of a live scheduler is never failed for stalling.

local keys = require("lib.keys")

local schedules = {}

-- The id of the iteration that is due then.
local function iteration(schedule_id, millis)
  return "repeat:" .. schedule_id .. ":" .. millis
end

-- The iteration that the scheduler is waiting for right now.
function schedules.is_pending(q, id, schedule_id)
  if not schedule_id then
    return false
  end
  local millis = call("ZSCORE", q.schedules, schedule_id)
  return millis and id == iteration(schedule_id, millis) or false
end

-- The ids of those that all schedulers wait for; not all of them need to be there.
function schedules.pending(q)
  local rows, ids = call("ZRANGE", q.schedules, 0, -1, "WITHSCORES"), {}
  for i = 1, #rows, 2 do
    ids[#ids + 1] = iteration(rows[i], rows[i + 1])
  end
  return ids
end

function schedules.is_live(q, schedule_id)
  if not schedule_id then
    return false
  end
  return call("EXISTS", keys.schedule(q, schedule_id)) == 1 or call("ZSCORE", q.schedules, schedule_id) and true or false
end

-- The next slot of an interval after `previous`, on the grid of `offset`.
function schedules.next_every(previous, every, now, offset)
  local following = previous + every
  if following < now then
    local aligned = math.floor(now / every) * every + offset
    following = aligned > now and aligned or aligned + every
  end
  return math.floor(following)
end

return schedules
