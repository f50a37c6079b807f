--- claim: waiting | prioritized -> active
--- The next ready job becomes this worker's: leased, counted as started, announced. An id without a record
--- (or with something else in its place) is dropped, so that it can never block those behind it. A member of a group
--- that has been cancelled, or has its outcome already, does not run again. A job of a lane whose turn it is not goes
--- back into its lane: it came by a door that knows nothing of lanes; where that lane cannot be read, it waits for its
--- time beside it. An id whose job is running already was put there a second time, and is dropped too; so is a job of a
--- lane that has ended.
--- `job_ids` are the jobs to claim, up to that at `last`: the next one is that `at`, the one behind it is `step` further,
--- 1 or -1. `room` are the bytes of payload that the reply may still take. `peeked` is the record of the next one, where it
--- was read before.
--- Past the first `fetch_count`, what a worker takes waits in its hands for a free slot: then only jobs are taken that
--- have never begun and are tied to nothing but a lane. A worker that dies costs such a job no more than one stall, and
--- one that stalled before is left to those who run it at once.
--- @arg   from       string   wait, prioritized, or lane for those who follow there
--- @arg   token      string
--- @arg   lease_ms   string
--- @arg   worker     string   the worker's name; empty for none
--- @reply claimed | ghost | withheld | turned_back | running | ended | left
local batch_claims = require("lib.batch_claims")
local events = require("lib.events")
local groups = require("lib.groups")
local handovers = require("lib.lane_handovers")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local lanes = require("lib.lanes")
local leases = require("lib.leases")
local limits = require("lib.limits")
local new_jobs = require("lib.new_jobs")
local queue = require("lib.queue")
local shapes = require("lib.shapes")

local LOCK, NO_LEASE = keys.tail.lock, leases.none
local STARTED, DEFERRED = jobs.field.attempts_started, jobs.field.deferred_failure
local GROUP, PROCESSED_BY = jobs.field.group, jobs.field.processed_by
local LANE, ORDER, SEQUENCE = jobs.field.lane, jobs.field.order, jobs.field.lane_sequence
local NONE = {}

-- It leaves the ready order, and its lane may let another one into it: what was taken so far is taken by then.
local function put_aside(q, from, id)
  batch_claims.drop(q, from, id)
  batch_claims.flush(q)
end

-- A settled member is put where it belongs, a cancelled one is erased.
local function withhold(q, from, id, status, job)
  put_aside(q, from, id)
  if status == "cancelled" then
    jobs.erase(q, id)
    events.capped(q, "removed", "jobId", id, "prev", from == "lane" and "wait" or from)
  else
    call("ZADD", status == "completed" and q.completed or q.failed, q.now_text, id)
  end
  if job then
    lanes.removed(q, job)
  end
  return "withheld"
end

-- The job as its lane knows it.
local function in_lane(id, flat)
  local job = { id = id, order = "0" }
  for i = 1, #flat, 2 do
    local field, value = flat[i], flat[i + 1]
    if field == LANE then
      job.lane = value
    elseif field == ORDER then
      job.order = value
    elseif field == SEQUENCE then
      job.sequence = value
    elseif field == STARTED then
      job.has_run = true
    end
  end
  return job
end

-- What the record says: the number of this start, the size of its payload, a failure that was put off, an end, lane and
-- group.
local function read_ties(flat)
  local started, bytes, is_deferred, has_ended, lane, tie = "1", 0, false, false, nil, nil
  for i = 1, #flat, 2 do
    local field = flat[i]
    if field == "data" then
      bytes = #flat[i + 1]
    elseif field == STARTED then
      started = tostring((tonumber(flat[i + 1]) or 0) + 1)
    elseif field == DEFERRED then
      is_deferred = true
    elseif field == "finishedOn" then
      has_ended = true
    elseif field == LANE then
      lane = flat[i + 1]
    elseif field == GROUP then
      tie = flat[i + 1]
    end
  end
  return started, bytes, is_deferred, has_ended, lane, tie
end

-- One that is claimed at once and from `wait`: see `take_alone`. Behind one that was put aside several are.
local function is_alone(q, from, count)
  return count == 1 and from == "wait" and not q.claiming
end

-- Check: once a call is enough. Alone the first writes find out.
local function check_keys(q, is_alone)
  if not is_alone then
    events.check(q)
    shapes.check_one(q, "active")
    q.can_claim = true
  end
end

local function tell_active(q, id)
  call("XADD", q.events, "*", "event", "active", "jobId", id, "prev", "waiting")
end

-- Write: alone and from `wait`, the job moves and everybody is told. The move fails whole; where it cannot be told, it is
-- undone, and nothing has changed. An idle worker's fetch is as quick as it has few commands.
local function take_alone(q, id)
  call("LMOVE", q.wait, q.active, "RIGHT", "LEFT")
  local is_told, err = pcall(tell_active, q, id)
  if not is_told then
    call("LMOVE", q.active, q.wait, "LEFT", "RIGHT")
    error(err, 0)
  end
end

-- What is claimed together, by its place among them: keys, records, lanes (false for none), and how much room their
-- payload has left. Kept from call to call, only as many as are counted belong to this one. No record stays here: it may
-- be large.
local chosen_keys, chosen, chosen_lanes, rooms = {}, {}, {}, {}

-- The numbers of the last of them that was begun with, and of the last that everybody was told of.
local begun, told = 0, 0

-- Write: the first `count` of them are this worker's, they have begun, and everybody is told. What the worker gets are the
-- records as they were. A fresh one that turns out to have begun is there twice, and this call has started it a moment ago.
-- The leases of a call end together: to copy one costs nearly a third less than to set another, which it would have to
-- write anew for its replicas. Where something lies already nothing is copied.
local function start_each(q, arg, count, started, is_fresh, outcome)
  local ids, at, step, token, lease_ms, worker = arg.job_ids, arg.at, arg.step, arg.token, arg.lease_ms, arg.worker
  local has_lease, is_taken, stream, now = token ~= NO_LEASE, arg.is_taken, q.events, q.now_text
  local claimed, place = batch_claims.claimed, batch_claims.count(q)
  local records, slot, leased = outcome.records, 2 * outcome.count + 1, outcome.leased
  for number = 1, count do
    local id, key = ids[at], chosen_keys[number]
    if has_lease then
      local lock = key .. LOCK
      if not leased or leased == lock or call("COPY", leased, lock) == 0 then
        call("SET", lock, token, "PX", lease_ms)
        leased, outcome.leased = lock, lock
      end
    end
    claimed[place + number], begun = id, number
    local new_count
    if worker == "" then
      new_count = call("HSET", key, "processedOn", now, STARTED, started)
    else
      new_count = call("HSET", key, "processedOn", now, STARTED, started, PROCESSED_BY, worker)
    end
    if is_fresh and new_count == 0 then
      outcome.turned_back, place = outcome.turned_back + 1, place - 1
    else
      if not is_taken then
        call("XADD", stream, "*", "event", "active", "jobId", id, "prev", "waiting")
      end
      records[slot], records[slot + 1] = id, chosen[number]
      slot = slot + 2
    end
    chosen[number], told = false, number
    at = at + step
  end
end

-- Write: the same, and what was begun is claimed, also where it could not be told of.
local function start(q, arg, count, started, is_fresh, outcome)
  arg.is_taken = is_alone(q, arg.from, count)
  if arg.is_taken then
    take_alone(q, arg.job_ids[arg.at])
  end
  begun, told = 0, 0
  local turned_back, before = outcome.turned_back, outcome.count
  local is_done, err = pcall(start_each, q, arg, count, started, is_fresh, outcome)
  turned_back = outcome.turned_back - turned_back
  batch_claims.claim(q, arg, 1, begun, begun - turned_back)
  outcome.count = before + told - turned_back
  if is_fresh then
    new_jobs.shorten(outcome, before)
  end
  if not is_done then
    error(err, 0)
  end
end

-- How many of them there are so far.
local chosen_count = 0

-- Reads those from this one on that have never run, as far as the room goes; the record of the one behind them that is
-- something else, and whether any has a lane that it was not taken from.
local function choose(q, arg)
  local ids, at, step, room = arg.job_ids, arg.at, arg.step, arg.room
  local read, prefix, peeked = new_jobs.read, keys.job(q, ""), arg.peeked
  local has_lanes, is_gated, reads_names = queue.settings(q).lanes, false, not q.claiming
  local taken_from = arg.from == "lane" and handovers.follower_lanes or NONE
  local has_priority = arg.from == "prioritized"
  local count = 0
  rooms[0] = room
  local left = (arg.last - at) * step + 1
  while count < left and room > 0 do
    local id, own_lane = ids[at], taken_from[at]
    local key = prefix .. id
    local row, bytes, lane, flat = read(key, has_lanes, peeked, reads_names, has_priority, own_lane)
    if not row then
      return flat, is_gated
    end
    peeked = false
    count, at, room = count + 1, at + step, room - bytes
    chosen_keys[count], chosen[count], chosen_lanes[count], rooms[count] = key, row, lane or false, room
    chosen_count = count
    is_gated = is_gated or lane and lane ~= own_lane
  end
  return nil, is_gated
end

-- Check: how many from this one on have never run and may start now; behind them, the record of the one that is something
-- else. What their payload leaves of the room comes along.
local function count_fresh(q, arg)
  chosen_count = 0
  local is_read, other, is_gated = pcall(choose, q, arg)
  if not is_read then
    -- A key that holds something else is no job, and costs nobody else anything.
    if not shapes.is_wrong_type(other) then
      error(other, 0)
    end
    other, is_gated = nil, true
  end
  local count = chosen_count
  -- Those who follow in lanes that nothing else was done with are out, and alone.
  if is_gated or arg.from == "lane" and q.known_lanes then
    local free = lanes.count_free(q, chosen_lanes, arg.job_ids, arg.at, arg.step, count)
    if free < count then
      for number = free + 1, count do
        chosen[number] = false
      end
      return free, rooms[free], jobs.read_at(chosen_keys[free + 1])
    end
  end
  return count, rooms[count], other
end

-- Check: what becomes of a job of a lane that is not free: see `lanes.gate`; `aside` where its lane cannot be read. It must
-- not block those behind it.
local function gate_of(q, job)
  local gate = lanes.gate(q, job)
  if gate ~= "pass" then
    lanes.check(q, job.lane)
  end
  return gate
end

local function gate_or_aside(q, job)
  local is_read, gate = pcall(gate_of, q, job)
  if not is_read then
    if not shapes.is_wrong_type(gate) then
      error(gate, 0)
    end
    lanes.check_aside(q)
    return "aside"
  end
  return gate
end

-- It has begun and somebody holds it: its id was put here while it runs. A lock alone does not say so, for it may have been
-- left behind.
local function is_running(q, id)
  return leases.is_held(q, id) and (batch_claims.has_claimed(q, id) or call("LPOS", q.active, id) ~= false)
end

-- Somebody who knows nothing of lanes removed a job that rested in one, and its id came again: what was left of the first one
-- stands for the second, which has run by then.
local function lies_among_ended(q, id)
  shapes.check(q, "completed", "failed")
  return call("ZSCORE", q.completed, id) or call("ZSCORE", q.failed, id)
end

-- One that is something else: it has run before, is tied to others, or is no job at all.
local function claim_other(q, arg, id, flat, outcome)
  -- check
  local from, key = arg.from, keys.job(q, id)
  local started, bytes, is_deferred, has_ended, lane, tie = "1", 0, false, false, nil, nil
  if flat then
    started, bytes, is_deferred, has_ended, lane, tie = read_ties(flat)
  end
  if started ~= "1" and is_running(q, id) then
    batch_claims.drop(q, from, id)
    return "running"
  end
  local status, statuses, is_withheld
  if tie then
    status, statuses = groups.gate(q, id, tie)
    is_withheld = status and status ~= "pending" and status ~= "active"
    if is_withheld then
      shapes.check(q, "completed", "failed")
    end
  end
  local job, gate
  has_ended = lane and has_ended and lies_among_ended(q, id)
  if has_ended then
    job = in_lane(id, flat)
    lanes.check_end(q, job.lane)
  elseif lane and (is_withheld or not lanes.is_free(q, lane, id)) then
    job = in_lane(id, flat)
    if is_withheld then
      lanes.check_end(q, job.lane)
    else
      gate = gate_or_aside(q, job)
    end
  end

  -- write
  if not flat then
    batch_claims.drop(q, from, id)
    return "ghost"
  end
  if has_ended then
    put_aside(q, from, id)
    lanes.removed(q, job)
    return "ended"
  end
  if is_withheld then
    return withhold(q, from, id, status, job)
  end
  if gate == "back" then
    put_aside(q, from, id)
    lanes.turn_back(q, job)
    return "turned_back"
  end
  if gate == "aside" then
    put_aside(q, from, id)
    lanes.put_aside(q, job)
    return "turned_back"
  end
  chosen_keys[1], chosen[1] = key, flat
  start(q, arg, 1, started, false, outcome)
  -- A job that only fails without running does not use up the rate.
  if outcome.limit_max and not is_deferred then
    limits.count_start(q, outcome.limit_ms)
  end
  arg.room = arg.room - bytes

  -- settle
  if gate == "enter" then
    lanes.let_in(q, job)
  end
  if status == "pending" then
    call("HSET", statuses, key, "active")
  end
  return "claimed"
end

-- Claims the next one, and with it those behind it that have never run: how many is the second answer.
return function(q, arg, outcome)
  -- check
  local count, room, flat = count_fresh(q, arg)
  if count == 0 and outcome.count >= arg.fetch_count then
    return "left", 0
  end
  if not q.can_claim then
    check_keys(q, is_alone(q, arg.from, math.max(count, 1)))
  end
  arg.peeked = count > 0 and flat
  if count == 0 then
    return claim_other(q, arg, arg.job_ids[arg.at], flat, outcome), 1
  end

  -- write
  local before = outcome.count
  start(q, arg, count, "1", true, outcome)
  for _ = 1, outcome.limit_max and outcome.count - before or 0 do
    limits.count_start(q, outcome.limit_ms)
  end
  arg.room = room
  return "claimed", count
end
