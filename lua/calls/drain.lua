--- drain: removes what waits, and what is delayed where asked
--- The pending iterations of schedulers stay. Bounded; called again until nothing is left.
--- @arg    with_delayed   flag
--- @arg    most           int    how many jobs this call may remove
--- @reply  how many were removed
local items = require("lib.items")
local jobs = require("lib.jobs")
local removal = require("lib.removal")
local schedules = require("lib.schedules")

local function is_kept(q, id)
  local schedule_id = string.match(id, "^repeat:(.*):%d+$")
  if not schedule_id then
    return false
  end
  local job = jobs.load(q, id)
  return job and schedules.is_pending(q, id, job.schedule_id or schedule_id) or false
end

-- Walks a list from its tail. What stays is put aside and back, so that it is not walked twice in this call.
local function drain_list(q, key, most)
  local removed, kept = 0, {}
  while removed < most do
    local id = call("RPOP", key)
    if not id then
      break
    end
    if is_kept(q, id) then
      kept[#kept + 1] = id
    else
      removal.erase(q, id, true)
      removed = removed + 1
    end
  end
  for i = #kept, 1, -1 do
    call("RPUSH", key, kept[i])
  end
  return removed
end

local function drain_zset(q, key, most)
  local removed, at = 0, 0
  while removed < most do
    local ids = call("ZRANGE", key, at, at + most - removed - 1)
    if #ids == 0 then
      break
    end
    for _, id in ipairs(ids) do
      if is_kept(q, id) then
        at = at + 1
      else
        call("ZREM", key, id)
        removal.erase(q, id, true)
        removed = removed + 1
      end
    end
  end
  return removed
end

return {
  run = function(q, arg)
    local removed = drain_list(q, q.wait, arg.most)
    removed = removed + drain_list(q, q.paused, arg.most - removed)
    if arg.with_delayed then
      removed = removed + drain_zset(q, q.delayed, arg.most - removed)
    end
    removed = removed + drain_zset(q, q.prioritized, arg.most - removed)
    return { tostring(removed) }
  end,
  render = items.as_is,
}
