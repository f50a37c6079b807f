-- Lanes: jobs of one queue that share a key run in order, `concurrency` at a time. A lane's jobs rest in a zset of
-- their own, by `orderMs` and then by arrival; the first ones are let out into the ordinary ready order. Who is out
-- is a set of job ids, one field per lane of one hash: it can be compared with the jobs themselves, and a count could
-- not. Whoever changes anything runs the same rule: while there is room and somebody is due, let the first out.
--
-- A job of a lane is out (and lies wherever an ordinary job would), or rests in its lane, or waits for its time in
-- `lane_delayed`, or has finished. What rests or waits for its time is also in `lane_waiting`, which counts and pages
-- them: by the time they came to rest, and below zero while they wait for their time.

local clock = require("lib.clock")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local leases = require("lib.leases")
local queue = require("lib.queue")
local ready = require("lib.ready")
local shapes = require("lib.shapes")
local signals = require("lib.signals")

local lanes = {}

-- Digits of the sequence at the start of a member. Text of one width sorts as the numbers do.
local WIDTH = 16
-- Ids without a record that one release may pass over; the rest is left to the next one.
local MOST_GHOSTS = 1000
-- Below every time: the score in `lane_waiting` of what waits for its time.
local NOT_YET = "-1"

-- How the lanes of this queue behave; read once per call.
function lanes.settings(q)
  local settings = rawget(q, "lane_rules")
  if not settings then
    local row = call("HMGET", q.meta, "yoke.laneConcurrency", "yoke.laneOnRetry", "yoke.laneOnFailure", "yoke.orderingDelayMs")
    settings = {
      concurrency = tonumber(row[1]) or 1,
      skips = row[2] == "skip",
      halts = row[3] == "halt",
      ordering_delay = tonumber(row[4]) or 0,
      has_own = call("HLEN", q.lane_settings) > 0,
    }
    rawset(q, "lane_rules", settings)
  end
  return settings
end

-- Ids of any text, one after the other, each behind its length.
local function ids_of(text)
  local ids, at = {}, 1
  while text and at <= #text do
    local length, from = string.match(text, "^(%d+):()", at)
    if not length then
      break
    end
    at = from + tonumber(length)
    ids[#ids + 1] = string.sub(text, from, at - 1)
  end
  return ids
end

local function text_of(ids)
  if #ids == 1 then
    return #ids[1] .. ":" .. ids[1]
  end
  local parts = {}
  for i, id in ipairs(ids) do
    parts[i] = #id .. ":" .. id
  end
  return table.concat(parts)
end

-- What one lane has of its own: `p` paused, `h` halted, digits for its concurrency.
local function read_own(lane, text)
  lane.is_paused = text and string.find(text, "p", 1, true) ~= nil or false
  lane.is_halted = text and string.find(text, "h", 1, true) ~= nil or false
  lane.own_concurrency = text and tonumber(string.match(text, "%d+"))
end

-- The lane as this call knows it. Nobody else writes meanwhile, so it is read once.
function lanes.open(q, name)
  local known = rawget(q, "known_lanes")
  if not known then
    known = {}
    rawset(q, "known_lanes", known)
  end
  local lane = known[name]
  if not lane then
    local settings = lanes.settings(q)
    lane = { name = name, key = keys.lane(q, name), out = ids_of(call("HGET", q.lane_out, name)) }
    if settings.has_own then
      read_own(lane, call("HGET", q.lane_settings, name))
    end
    lane.concurrency = lane.own_concurrency or settings.concurrency
    known[name] = lane
  end
  return lane
end

local function is_blocked(lane)
  return lane.is_paused or lane.is_halted
end

-- How many rest in the lane.
function lanes.depth(lane)
  if not lane.resting then
    lane.resting = call("ZCARD", lane.key)
  end
  return lane.resting
end

-- Check: all that a lane may have to write when this job comes, goes or changes.
function lanes.check(q, name)
  if not rawget(q, "are_lanes_checked") then
    queue.settings(q)
    shapes.check(q, "lane_waiting", "lanes", "wait")
    -- Mostly none of these exists, and one question answers for all.
    if call("EXISTS", q.lane_settings, q.lane_delayed, q.lane_held, q.prioritized, q.priority_counter) > 0 then
      shapes.check(q, "lane_settings", "lane_delayed", "lane_held")
      ready.check(q, 1)
    end
    rawset(q, "are_lanes_checked", true)
  end
  lanes.depth(lanes.open(q, name))
end

-- The queue has lanes: from now on a lookup by id, a count and a promotion have to think of them.
function lanes.mark(q)
  local settings = queue.settings(q)
  if not settings.has_lanes then
    settings.has_lanes = true
    call("HSET", q.meta, "yoke.lanes", "1")
  end
end

local function member_of(job)
  return string.format("%0" .. WIDTH .. ".0f", tonumber(job.sequence) or 0) .. job.id
end

local function id_of(member)
  return string.sub(member, WIDTH + 1)
end
lanes.id_of = id_of

-- Where the job stands in its lane, read where the transition did not know it.
local function know_place(job)
  if not job.order then
    local row = call("HMGET", job.key, jobs.field.order, jobs.field.lane_sequence)
    job.order, job.sequence = row[1] or "0", row[2] or "0"
  end
end

local function position(lane, id)
  for i, other in ipairs(lane.out) do
    if other == id then
      return i
    end
  end
  return nil
end

local function drop(lane, id)
  local at = position(lane, id)
  if at then
    table.remove(lane.out, at)
    lane.is_changed = true
  end
  return at ~= nil
end

-- Writes down who is out. A lane with nobody left, neither out nor resting, leaves nothing behind; one that is
-- stopped stays listed, or nobody would find it.
local function save(q, lane)
  if lane.is_changed then
    lane.is_changed = false
    if #lane.out > 0 then
      call("HSET", q.lane_out, lane.name, text_of(lane.out))
    else
      call("HDEL", q.lane_out, lane.name)
    end
  end
  if #lane.out == 0 and lanes.depth(lane) == 0 and not is_blocked(lane) then
    call("ZREM", q.lanes, lane.name)
    if lanes.settings(q).ordering_delay > 0 then
      call("ZREM", q.lane_held, lane.name)
    end
  end
end

-- Puts the job where ready jobs are. False if it has no record any more: somebody who knows nothing of lanes has
-- removed it.
local function let_out(q, lane, id, priority)
  if not priority then
    local row = call("HMGET", keys.job(q, id), "priority", jobs.field.lane)
    if not row[2] then
      return false
    end
    priority = tonumber(row[1]) or 0
  end
  lane.out[#lane.out + 1] = id
  lane.is_changed = true
  ready.enqueue(q, id, priority, false)
  local released = rawget(q, "lane_released")
  if not released then
    released = {}
    rawset(q, "lane_released", released)
  end
  released[id] = true
  return true
end

-- With an ordering delay the first of the lane is held back for those that may still sort in front of it. What has
-- run before is not held: it must not be overtaken.
local function is_due(q, lane)
  local first = call("ZRANGE", lane.key, "0", "0", "WITHSCORES")
  if not first[1] then
    return true
  end
  local id, order = id_of(first[1]), tonumber(first[2])
  if first[2] == "-inf" or call("HGET", keys.job(q, id), jobs.field.attempts_started) then
    return true
  end
  local arrival = tonumber(call("ZSCORE", q.lane_waiting, id)) or q.now
  local due = math.min(order, arrival) + lanes.settings(q).ordering_delay
  if due <= q.now then
    return true
  end
  call("ZADD", q.lane_held, clock.text(due), lane.name)
  signals.delay(q)
  return false
end

-- The rule. The caller saves.
local function release(q, lane)
  if is_blocked(lane) then
    return
  end
  local is_held_back = lanes.settings(q).ordering_delay > 0
  local ghosts = 0
  while #lane.out < lane.concurrency and lanes.depth(lane) > 0 and ghosts < MOST_GHOSTS do
    if is_held_back and not is_due(q, lane) then
      break
    end
    local first = call("ZPOPMIN", lane.key)
    if not first[1] then
      lane.resting = 0
      break
    end
    lane.resting = lane.resting - 1
    local id = id_of(first[1])
    call("ZREM", q.lane_waiting, id)
    if not let_out(q, lane, id) then
      ghosts = ghosts + 1
    end
  end
end

-- The job comes to rest in its lane. In front of all others goes what has run and was turned back.
local function rest(q, lane, job, is_front)
  know_place(job)
  if #lane.out == 0 and lanes.depth(lane) == 0 then
    call("ZADD", q.lanes, "0", lane.name)
  end
  if call("ZADD", lane.key, is_front and "-inf" or job.order, member_of(job)) == 1 then
    lane.resting = lanes.depth(lane) + 1
  end
  call("ZADD", q.lane_waiting, q.now_text, job.id)
end

-- Settle: a job that was nowhere comes to rest; whoever calls this lets the lane go on.
function lanes.arrive(q, job)
  rest(q, lanes.open(q, job.lane), job)
end

-- Settle: the lane goes on if it can.
function lanes.release(q, name)
  local lane = lanes.open(q, name)
  release(q, lane)
  save(q, lane)
end

-- Settle: a job that is nowhere takes its place in its lane, or goes out at once.
function lanes.enter(q, job)
  local lane = lanes.open(q, job.lane)
  if #lane.out >= lane.concurrency then
    rest(q, lane, job)
    return
  end
  if lanes.depth(lane) > 0 or is_blocked(lane) or lanes.settings(q).ordering_delay > 0 then
    rest(q, lane, job)
    release(q, lane)
  else
    if #lane.out == 0 then
      call("ZADD", q.lanes, "0", lane.name)
    end
    let_out(q, lane, job.id, job.priority)
  end
  save(q, lane)
end

-- Settle: a job that is nowhere waits for its time. Its lane does not wait for it.
function lanes.postpone(q, id, due)
  call("ZADD", q.lane_delayed, clock.text(due), id)
  call("ZADD", q.lane_waiting, NOT_YET, id)
  signals.delay(q)
end

-- Check: what a fetch does with a job of a lane: it passes if it is out; it enters if there is room and none before
-- it; else it goes back. `job` has its place.
function lanes.gate(q, job)
  local released = rawget(q, "lane_released")
  if released and released[job.id] then
    return "pass"
  end
  local lane = lanes.open(q, job.lane)
  if is_blocked(lane) then
    return "back"
  end
  local at = position(lane, job.id)
  if not at then
    if #lane.out >= lane.concurrency then
      return "back"
    end
    local first = lanes.depth(lane) > 0 and call("ZRANGE", lane.key, "0", "0", "WITHSCORES") or {}
    local order, other = tonumber(job.order), tonumber(first[2])
    local is_first = not other or order < other or (order == other and member_of(job) <= first[1])
    return is_first and "enter" or "back"
  end
  if #lane.out <= lane.concurrency then
    return "pass"
  end
  -- More are out than may be: the limit was lowered. The first ones go on, once those that run are few enough.
  local running = 0
  for _, other in ipairs(lane.out) do
    if other ~= job.id and leases.is_held(q, other) then
      running = running + 1
    end
  end
  return at <= lane.concurrency and running < lane.concurrency and "pass" or "back"
end

-- Write: the gate let in a job that was not out.
function lanes.let_in(q, job)
  local lane = lanes.open(q, job.lane)
  if #lane.out == 0 and lanes.depth(lane) == 0 then
    call("ZADD", q.lanes, "0", lane.name)
  elseif lanes.depth(lane) > 0 and call("ZREM", lane.key, member_of(job)) == 1 then
    lane.resting = lane.resting - 1
    call("ZREM", q.lane_waiting, job.id)
  end
  lane.out[#lane.out + 1] = job.id
  lane.is_changed = true
  save(q, lane)
end

-- Settle: the gate sent a job back, which has been taken out of the ready order.
function lanes.turn_back(q, job)
  local lane = lanes.open(q, job.lane)
  local was_out = position(lane, job.id) ~= nil
  rest(q, lane, job, was_out and job.has_run)
  drop(lane, job.id)
  release(q, lane)
  save(q, lane)
end

-- Settle: the job has finished for good, and the lane goes on, or halts where the queue wants that.
function lanes.finished(q, job, outcome)
  local lane = lanes.open(q, job.lane)
  drop(lane, job.id)
  if outcome == "failed" and lanes.settings(q).halts then
    lanes.set_own(q, lane, { is_halted = true })
  end
  release(q, lane)
  save(q, lane)
end

-- Takes a job that is not out from where it rests or waits for its time: `wait`, `delayed`, or nil.
function lanes.take_out(q, job)
  know_place(job)
  local lane = lanes.open(q, job.lane)
  if lanes.depth(lane) > 0 and call("ZREM", lane.key, member_of(job)) == 1 then
    lane.resting = lane.resting - 1
    call("ZREM", q.lane_waiting, job.id)
    return "wait"
  end
  if call("ZREM", q.lane_delayed, job.id) == 1 then
    call("ZREM", q.lane_waiting, job.id)
    return "delayed"
  end
  return nil
end

-- Settle: the job is gone for good; if it was out, the next may go.
function lanes.removed(q, job)
  local lane = lanes.open(q, job.lane)
  if drop(lane, job.id) then
    release(q, lane)
  end
  save(q, lane)
end

-- A failing job steps aside instead of blocking its lane.
function lanes.skips(q)
  return lanes.settings(q).skips
end

-- Settle: the job, just failed, lets the next go and comes back to its own place: when it is due, or at once.
function lanes.skip(q, job, due)
  local lane = lanes.open(q, job.lane)
  drop(lane, job.id)
  release(q, lane)
  if due then
    lanes.postpone(q, job.id, due)
  else
    rest(q, lane, job)
    release(q, lane)
  end
  save(q, lane)
end

-- Write: what the lane has of its own. Told what changes; nothing left leaves no field.
function lanes.set_own(q, lane, changes)
  for name, value in pairs(changes) do
    lane[name] = value
  end
  local text = (lane.is_paused and "p" or "") .. (lane.is_halted and "h" or "")
    .. (lane.own_concurrency and tostring(lane.own_concurrency) or "")
  if text == "" then
    call("HDEL", q.lane_settings, lane.name)
  else
    call("HSET", q.lane_settings, lane.name, text)
    lanes.settings(q).has_own = true
  end
  lane.concurrency = lane.own_concurrency or lanes.settings(q).concurrency
  if is_blocked(lane) then
    call("ZADD", q.lanes, "0", lane.name)
    -- What this call has let out of it has to pass the gate again.
    rawset(q, "lane_released", nil)
  end
end

return lanes
