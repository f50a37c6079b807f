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
    lanes.finished(q, job.lane, job.id, outcome)
  elseif trouble == "gone" then
    lanes.removed(q, job)
  else
    local row = jobs.fields(q, id, jobs.field.attempts_started)
    job.has_run = row and row[1] and true or false
    lanes.turn_back(q, job)
  end
end

-- One lane: what was found is appended to `found` as lane, id, word.
local function check_lane(q, name, listed, most_resting, heals, found)
  lanes.check(q, name)
  local lane = lane_state.open(q, name)
  local function tell(id, word)
    found[#found + 1], found[#found + 2], found[#found + 3] = name, id, word
  end
  for _, id in ipairs({ unpack(lane_state.out(lane)) }) do
    local trouble, outcome = trouble_with(q, name, id, listed)
    if trouble then
      tell(id, trouble)
      if heals then
        heal(q, name, id, trouble, outcome)
      end
    end
  end
  local resting, members = lane_rest.range(q, name, 0, most_resting - 1)
  for i, id in ipairs(resting) do
    if not jobs.exists(q, id) then
      tell(id, "gone")
      if heals then
        lane_state.drop_resting(q, lane, id, members[i])
      end
    end
  end
  if lanes.is_stuck(q, lane) then
    tell("", "stuck")
  end
  if heals then
    lanes.release(q, name)
  end
end

-- Lanes by name, from behind `after` on. What was found, and the name to go on from (empty after the last one).
function lane_upkeep.check(q, after, most, most_resting, heals)
  local names = call("ZRANGEBYLEX", q.lanes, after == "" and "-" or "(" .. after, "+", "LIMIT", 0, most)
  local listed = #names > 0 and listed_ids(q)
  local found = {}
  for _, name in ipairs(names) do
    -- Each on its own: a lane that cannot be read must not keep the others from being healed.
    local is_done, err = pcall(check_lane, q, name, listed, most_resting, heals, found)
    if not is_done then
      found[#found + 1], found[#found + 2], found[#found + 3] = name, "", "error"
    end
  end
  return found, #names < most and "" or names[#names], #names
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
  lane_times.promote_due(q)
  local after = call("HGET", q.meta, "yoke.laneCursor") or ""
  local _, following = lane_upkeep.check(q, after, MOST_PER_TICK, 1, true)
  if following ~= after then
    call("HSET", q.meta, "yoke.laneCursor", following)
  end
  forget_unused(q)
end

return lane_upkeep
