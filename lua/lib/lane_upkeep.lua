-- Compares what lanes believe with what is. A worker of another make finishes a job and tells no lane, a dashboard
-- removes one, somebody deletes a key: the lane would wait for ever for a job that will never end.

local jobs = require("lib.jobs")
local keys = require("lib.keys")
local lane_rest = require("lib.lane_rest")
local lane_rules = require("lib.lane_rules")
local lane_state = require("lib.lane_state")
local lane_writing = require("lib.lane_writing")
local lane_times = require("lib.lane_times")
local lanes = require("lib.lanes")
local queue = require("lib.queue")

local lane_upkeep = {}

-- Lanes that one tick looks at; a queue with more has its turn tick by tick.
local MOST_PER_TICK = 1000
-- Jobs that one call looks at or lets out: it ends with the lane in which it has come so far, and the next call goes on.
-- One lane has at most a thousand that are out, as many that are looked at, and lets as many out.
local MOST_JOBS = 3000
-- Lists up to this length are read whole, to tell a job that lies nowhere from one that waits. In longer ones nobody
-- looks: a job is lost only by a defect, and that search would hold the server.
local MOST_LISTED = 10000

local LISTS = { "wait", "paused", "active" }

-- The ids in the queue's lists, or nil where there are too many. What this call has let out belongs to them: a job that
-- seemed lost would be let out again, and run twice.
local function listed_ids(q)
  lane_writing.push_all(q)
  local count = 0
  for _, name in ipairs(LISTS) do
    count = count + call("LLEN", q[name])
  end
  if count > MOST_LISTED then
    return nil
  end
  local listed = {}
  for _, name in ipairs(LISTS) do
    for _, id in ipairs(call("LRANGE", q[name], 0, -1)) do
      listed[id] = true
    end
  end
  return listed
end

-- What is wrong with a job that is out, and how it ended if it has: `gone`, `finished`, `lost`, or nil.
local function trouble_with(q, name, id, listed)
  local row = jobs.fields(q, id, jobs.field.lane)
  if not row or row[1] ~= name then
    return "gone"
  end
  if call("ZSCORE", q.completed, id) then
    return "finished", "completed"
  end
  if call("ZSCORE", q.failed, id) then
    return "finished", "failed"
  end
  if listed and not listed[id] and not call("ZSCORE", q.prioritized, id) and not call("ZSCORE", q.delayed, id)
    and not call("ZSCORE", q.waiting_children, id) then
    return "lost"
  end
  return nil
end

local function heal(q, name, id, trouble, outcome)
  local job = { id = id, key = keys.job(q, id), lane = name }
  if trouble == "finished" then
    lanes.ended(q, name, id, outcome)
  elseif trouble == "gone" then
    lane_state.drop(q, lane_state.open(q, name), id)
  else
    local row = jobs.fields(q, id, jobs.field.attempts_started)
    job.has_run = row and row[1] and true or false
    lanes.put_back(q, job)
  end
end

local function tell(found, ...)
  for i = 1, select("#", ...) do
    found[#found + 1] = select(i, ...)
  end
end

-- One lane: what was found is appended to `found` as lane, id, word. It goes on when all of it has been looked at, so that
-- it passes over as few as may be in one call. How many jobs were looked at or let out.
local function check_lane(q, name, listed, most_resting, heals, found)
  lanes.check(q, name)
  local lane = lane_state.open(q, name)
  local out, had_room = { unpack(lane_state.out(lane)) }, lane_state.has_room(lane)
  for _, id in ipairs(out) do
    local trouble, outcome = trouble_with(q, name, id, listed)
    if trouble then
      tell(found, name, id, trouble)
      if heals then
        heal(q, name, id, trouble, outcome)
      end
    end
  end
  local resting, members = {}, {}
  if most_resting > 0 then
    resting, members = lane_rest.range(q, name, 0, most_resting - 1)
  end
  for i, id in ipairs(resting) do
    if not jobs.exists(q, id) then
      tell(found, name, id, "gone")
      if heals then
        lane_state.drop_resting(q, lane, id, members[i])
      end
    end
  end
  if had_room and lanes.is_stuck(q, lane) then
    tell(found, name, "", "stuck")
  end
  return #out + #resting + (heals and lanes.release(q, name) or 0)
end

-- Lanes by name, from behind `after` on, as many as one call may. What was found, the name to go on from (empty after the
-- last one), and how many were checked.
function lane_upkeep.check(q, after, most, most_resting, heals)
  local names = call("ZRANGEBYLEX", q.lanes, after == "" and "-" or "(" .. after, "+", "LIMIT", 0, most)
  local listed = #names > 0 and listed_ids(q)
  local found, seen, count = {}, 0, 0
  while count < #names and seen < MOST_JOBS do
    count = count + 1
    local name = names[count]
    -- Each on its own: a lane that cannot be read must not keep the others from being healed.
    local is_done, seen_there = pcall(check_lane, q, name, listed, most_resting, heals, found)
    if is_done then
      seen = seen + seen_there
    else
      tell(found, name, "", "error")
    end
  end
  local is_last = count == #names and #names < most
  return found, is_last and "" or names[count], count
end

local RARE = { o = "lane_settings", d = "lane_delayed", h = "lane_held" }

-- Keys that are gone are asked for no more. What has no key of its own stays.
local function forget_unused(q)
  lane_writing.flush(q)
  local rules = lane_rules.of(q)
  local used = string.gsub(rules.used, "%a", function(letter)
    local name = RARE[letter]
    local is_gone = name and call("EXISTS", q[name]) == 0
      or letter == "s" and call("EXISTS", q.lanes, q.lane_waiting) == 0
    return is_gone and "" or letter
  end)
  used = used == "" and "-" or used
  if used ~= rules.used then
    lane_rules.set(q, { used = used })
  end
end

-- One tick's share: those that were looked at longest ago, because it is always their turn in the order of names.
function lane_upkeep.tick(q)
  if not queue.settings(q).lanes then
    if not lane_rules.are_left(q) then
      return
    end
    lane_rules.mark(q)
  end
  -- What has come due and cannot be admitted keeps no lane from being healed.
  pcall(lane_times.promote_due, q)
  local after = call("HGET", q.meta, "yoke.laneCursor") or ""
  local _, following = lane_upkeep.check(q, after, MOST_PER_TICK, 1, true)
  if following ~= after then
    call("HSET", q.meta, "yoke.laneCursor", following)
  end
  forget_unused(q)
end

return lane_upkeep
