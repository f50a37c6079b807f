--- maintain: one tick of a queue's upkeep
--- Jobs whose lease ran out go back to wait, and all that are active now become the next tick's suspects: a
--- worker that lives clears its own by extending or finishing. Open groups with members here are compared with the
--- jobs themselves. One tick per interval, whoever calls first.
--- @arg    max_stalls    int
--- @arg    interval_ms   int
--- @reply  recovered ids, ms until the next tick may run (0 if this one ran)
local events = require("lib.events")
local group_care = require("lib.group_care")
local items = require("lib.items")
local lane_upkeep = require("lib.lane_upkeep")
local shapes = require("lib.shapes")
local reclaim = require("transitions.reclaim")

-- Redis refuses to unpack much more than this.
local BATCH = 7000

local function recover(q, arg)
  local suspects = call("SMEMBERS", q.stalled)
  if #suspects == 0 then
    return {}
  end
  call("DEL", q.stalled)
  local recovered = {}
  for _, id in ipairs(suspects) do
    if string.sub(id, 1, 2) == "0:" then
      call("LREM", q.active, 1, id)
    else
      -- Each on its own: one that cannot be read must not keep the others from being recovered.
      local is_done, word = pcall(reclaim, q, { job_id = id, max_stalls = arg.max_stalls })
      if is_done and word == "ok" then
        recovered[#recovered + 1] = id
      end
    end
  end
  return recovered
end

local function suspect_all(q)
  local active = call("LRANGE", q.active, 0, -1)
  for first = 1, #active, BATCH do
    call("SADD", q.stalled, unpack(active, first, math.min(first + BATCH - 1, #active)))
  end
end

return {
  run = function(q, arg)
    -- check
    group_care.check(q)
    local wait_ms = call("PTTL", q.stalled_check)
    -- A mutex without an end was not left by a tick; it would stop all of them for ever.
    local is_tick = wait_ms < 0
    if is_tick then
      events.check(q)
      shapes.check(q, "active", "stalled", "wait")
    end

    -- write
    if not is_tick then
      -- A worker of another library may hold the mutex, and knows nothing of groups: they have a pace of their own.
      group_care.tick(q, arg.interval_ms)
      return { {}, tostring(math.max(wait_ms, 1)) }
    end
    call("SET", q.stalled_check, q.now_text, "PX", arg.interval_ms)
    events.trim(q)
    local recovered = recover(q, arg)
    suspect_all(q)
    -- Tidying up: what cannot be read keeps no stalled job from being recovered.
    pcall(lane_upkeep.tick, q)
    pcall(group_care.tick, q, arg.interval_ms)
    return { recovered, "0" }
  end,
  render = items.as_is,
}
