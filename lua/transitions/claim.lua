--- claim: waiting | prioritized -> active
--- The next ready job becomes this worker's: leased, counted as started, announced. An id without a record
--- (or with something else in its place) is dropped, so that it can never block those behind it. A member of a group
--- that has been cancelled, or has its outcome already, does not run again. A job of a lane whose turn it is not goes
--- back into its lane: it came by a door that knows nothing of lanes.
--- @arg   job_id     string
--- @arg   from       string   wait or prioritized
--- @arg   token      string
--- @arg   lease_ms   string
--- @arg   worker     string   the worker's name; empty for none
--- @reply claimed | ghost | withheld | turned_back
local batch_claims = require("lib.batch_claims")
local events = require("lib.events")
local groups = require("lib.groups")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local lanes = require("lib.lanes")
local leases = require("lib.leases")
local shapes = require("lib.shapes")

local STARTED, DEFERRED = jobs.field.attempts_started, jobs.field.deferred_failure
local GROUP, PROCESSED_BY = jobs.field.group, jobs.field.processed_by
local LANE, ORDER, SEQUENCE = jobs.field.lane, jobs.field.order, jobs.field.lane_sequence

-- It leaves the ready order, and its lane may let another one into it: what was taken so far is taken by then.
local function put_aside(q, from, id)
  batch_claims.drop(q, from, id)
  batch_claims.flush(q)
end

-- A settled member is put where it belongs, a cancelled one is erased.
local function withhold(q, arg, status, job)
  put_aside(q, arg.from, arg.job_id)
  if status == "cancelled" then
    jobs.erase(q, arg.job_id)
    events.capped(q, "removed", "jobId", arg.job_id, "prev", arg.from)
  else
    call("ZADD", status == "completed" and q.completed or q.failed, q.now_text, arg.job_id)
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

-- A job that has never run and is tied to nothing has these fields and no other, in this order, whoever added it. One
-- of a lane has its lane behind them, and its place there.
local function is_fresh(flat)
  local count = #flat
  return (count == 12 or (count == 16 or count == 18 and flat[17] == SEQUENCE) and flat[13] == LANE and flat[15] == ORDER)
    and flat[1] == "name" and flat[3] == "data" and flat[5] == "opts" and flat[7] == "timestamp"
    and flat[9] == "delay" and flat[11] == "priority"
end

-- What the record says: the number of this start, the size of its payload, a failure that was put off, lane and group.
local function read_ties(flat)
  local started, bytes, is_deferred, lane, tie = "1", 0, false, nil, nil
  for i = 1, #flat, 2 do
    local field = flat[i]
    if field == "data" then
      bytes = #flat[i + 1]
    elseif field == STARTED then
      started = tostring((tonumber(flat[i + 1]) or 0) + 1)
    elseif field == DEFERRED then
      is_deferred = true
    elseif field == LANE then
      lane = flat[i + 1]
    elseif field == GROUP then
      tie = flat[i + 1]
    end
  end
  return started, bytes, is_deferred, lane, tie
end

-- Check: once a call is enough. Alone and from `wait` the move itself is the first write and fails whole.
local function check_keys(q, from)
  events.check(q)
  if q.claiming or from ~= "wait" then
    shapes.check_one(q, "active")
    q.can_claim = true
  end
end

-- Write: it is this worker's, it has begun, and everybody is told.
local function start(q, arg, id, key, started)
  batch_claims.claim(q, arg.from, id)
  leases.take(key, arg.token, arg.lease_ms)
  events.active(q, id)
  if arg.worker ~= "" then
    call("HSET", key, "processedOn", q.now_text, STARTED, started, PROCESSED_BY, arg.worker)
  else
    call("HSET", key, "processedOn", q.now_text, STARTED, started)
  end
end

return function(q, arg)
  -- check
  local id, from = arg.job_id, arg.from
  local flat, key = jobs.read(q, id)
  if not q.can_claim then
    check_keys(q, from)
  end
  local is_new = flat and is_fresh(flat)
  if is_new and (not flat[14] or lanes.is_free(q, flat[14], id)) then
    -- write
    start(q, arg, id, key, "1")
    return "claimed", flat, #flat[4], false
  end
  local started, bytes, is_deferred, lane, tie = "1", 0, false, nil, nil
  if flat then
    started, bytes, is_deferred, lane, tie = read_ties(flat)
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
  -- One that is new has been asked about already.
  if lane and (is_withheld or is_new or not lanes.is_free(q, lane, id)) then
    job = in_lane(id, flat)
    gate = lanes.gate(q, job)
    if gate ~= "pass" or is_withheld then
      lanes.check(q, job.lane)
    end
  end

  -- write
  if not flat then
    batch_claims.drop(q, from, id)
    return "ghost"
  end
  if is_withheld then
    return withhold(q, arg, status, job)
  end
  if gate == "back" then
    put_aside(q, from, id)
    lanes.turn_back(q, job)
    return "turned_back"
  end
  start(q, arg, id, key, started)

  -- settle
  if gate == "enter" then
    lanes.let_in(q, job)
  end
  if status == "pending" then
    call("HSET", statuses, key, "active")
  end
  return "claimed", flat, bytes, is_deferred
end
