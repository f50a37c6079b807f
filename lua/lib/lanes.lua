-- Lanes: jobs of one queue that share a key run in order, `concurrency` at a time. A lane's jobs rest by
-- `orderMs` and then by arrival (lane_rest.lua); the first ones are let out into the ordinary ready order. Who is out
-- is a set of job ids, one field per lane of one hash: it can be compared with the jobs themselves, and a count could
-- not. Whoever changes anything runs the same rule: while there is room and somebody is due, let the first out.
--
-- A job of a lane is out (and lies wherever an ordinary job would), or rests in its lane, or waits for its time in
-- `lane_delayed`, or has finished. What rests or waits for its time is also in `lane_waiting`, which counts and pages
-- them: by the time they came to rest, and below zero while they wait for their time. Only the next iteration of a
-- scheduler waits in `delayed` and comes by the gate (see schedule_next).

local clock = require("lib.clock")
local handovers = require("lib.lane_handovers")
local jobs = require("lib.jobs")
local lane_followers = require("lib.lane_followers")
local lane_out = require("lib.lane_out")
local lane_rest = require("lib.lane_rest")
local lane_rules = require("lib.lane_rules")
local lane_state = require("lib.lane_state")
local lane_writing = require("lib.lane_writing")
local leases = require("lib.leases")
local shapes = require("lib.shapes")
local signals = require("lib.signals")

local lanes = {}

local MOST_GHOSTS = lane_followers.most_ghosts
-- What cannot be admitted because its lane cannot be read is asked for again when so much time has gone by.
lanes.try_again_ms = 30000

-- Below every time: the score in `lane_waiting` of what waits for its time.
local NOT_YET = "-1"

-- Check: a job of this lane comes or comes back; it ends; several end and hand over.
lanes.check = lane_state.check
lanes.check_end = lane_state.check_end
lanes.check_hand_over = lane_state.check_hand_over

-- What was let out lies in the ready order when the call ends; for whoever looks there before.
lanes.push_all = lane_writing.push_all

local LANE = jobs.field.lane

-- Puts the job where ready jobs are. False if it has no record any more: somebody who knows nothing of lanes has
-- removed it.
local function make_ready(q, id, priority)
  if not priority then
    local row = jobs.fields(q, id, "priority", LANE)
    if not row or not row[2] then
      return false
    end
    priority = row[1] == "0" and 0 or tonumber(row[1]) or 0
  end
  -- Those that were handed over before it go before it.
  if q.followed_count > q.shown_count then
    lane_writing.push_all(q)
  end
  lane_state.push(q, id, priority)
  q.lanes_moved_on = q.lanes_moved_on + 1
  local released = q.lane_released
  if not released then
    released = {}
    q.lane_released = released
  end
  released[id] = true
  return true
end

local function let_out(q, lane, id, priority)
  if not make_ready(q, id, priority) then
    return false
  end
  lane_state.add_out(q, lane, id)
  return true
end

-- With an ordering delay the first of the lane is held back for those that may still sort in front of it. What has
-- run before is not held: it must not be overtaken. Until when, or nil.
local function held_until(q, lane)
  local ordering_delay = lane_rules.of(q).ordering_delay
  if ordering_delay == 0 then
    return nil
  end
  -- What cannot be read holds nobody back: whoever ends a job must not fail for it.
  local is_read, id, place = pcall(lane_rest.first, q, lane.name)
  if not is_read or not id or place == "-inf" then
    return nil
  end
  local row = jobs.fields(q, id, jobs.field.attempts_started)
  if not row or row[1] then
    return nil
  end
  local arrival = lane_state.waiting_since(q, id) or q.now
  local due = math.min(tonumber(place), arrival) + ordering_delay
  return due > q.now and due or nil
end

-- The lane should go on and has not.
function lanes.is_stuck(q, lane)
  return not lane_state.is_blocked(lane) and lane_state.has_room(lane) and lane_state.depth(q, lane) > 0
    and not held_until(q, lane)
end

-- The rule. How many have left their rest.
local function release(q, lane)
  if lane_state.is_blocked(lane) then
    return 0
  end
  local count, ghosts = 0, 0
  while lane.resting ~= 0 and lane_state.has_room(lane) and ghosts < MOST_GHOSTS do
    local due = held_until(q, lane)
    if due then
      lane_rules.mark(q, "h")
      call("ZADD", q.lane_held, clock.text(due), lane.name)
      signals.delay(q)
      break
    end
    local id = lane_state.pop(q, lane)
    if not id then
      break
    end
    count = count + 1
    if not let_out(q, lane, id) then
      ghosts = ghosts + 1
    end
  end
  return count
end

-- The job comes to rest in its lane. In front of all others goes what has run and was turned back.
local function rest(q, lane, job, is_front)
  lane_state.know_place(q, job)
  lane_state.add_resting(q, lane, job, is_front)
end

-- Settle: a job that was nowhere comes to rest; whoever calls this lets the lane go on.
function lanes.arrive(q, job)
  rest(q, lane_state.open(q, job.lane), job)
end

-- Settle: the lane goes on if it can, and is forgotten if it is empty. How many have left their rest.
function lanes.release(q, name)
  local lane = lane_state.open(q, name)
  local count = release(q, lane)
  lane_state.touch(q, lane)
  return count
end

-- Settle: a job that is nowhere takes its place in its lane, or goes out at once. Its lane may still count it as out: those
-- who know nothing of lanes finish and remove without a word, and an id comes again.
function lanes.enter(q, job)
  lane_rules.mark(q)
  local lane = lane_state.open(q, job.lane)
  if not job.is_new or job.sequence then
    lane_state.drop(q, lane, job.id)
  end
  if not lane_state.has_room(lane) then
    rest(q, lane, job)
  elseif lane_state.is_blocked(lane) or lane_rules.of(q).ordering_delay > 0 or lane_state.depth(q, lane) > 0 then
    rest(q, lane, job)
    release(q, lane)
  else
    let_out(q, lane, job.id, job.priority)
  end
end

-- Settle: a job that is nowhere waits for its time. Its lane does not wait for it.
function lanes.postpone(q, id, due)
  lane_rules.mark(q, "d")
  call("ZADD", q.lane_delayed, clock.text(due), id)
  lane_state.set_waiting(q, id, NOT_YET)
  signals.delay(q)
end

-- Check: a job whose lane cannot be read can be put aside.
function lanes.check_aside(q)
  lane_state.check_keys(q)
  shapes.check(q, "lane_delayed", "lane_waiting")
end

-- Settle: it waits for a time at which that is tried again.
function lanes.put_aside(q, job)
  lanes.postpone(q, job.id, q.now + lanes.try_again_ms)
end

-- Of a fetch: lanes that have to be asked about, the jobs that are in question, and their places in it.
local unknown_names, unknown_ids, unknown_at = {}, {}, {}

-- Check: the usual case of the gate: the job is out and nothing speaks against it.
function lanes.is_free(q, name, id)
  local released = q.lane_released
  if handovers.of(q)[name] == id or released and released[id] then
    return true
  end
  return lane_state.is_out_alone(q, name, id)
end

-- The same for `count` jobs from `ids[at]` on, each `step` further, and their lanes (false for none): how many of them are
-- free, from the first on.
function lanes.count_free(q, names, ids, at, step, count)
  local released, next_of, asked = q.lane_released, handovers.of(q), 0
  for i = 1, count do
    local name, id = names[i], ids[at]
    if name and next_of[name] ~= id and not (released and released[id]) then
      if lane_state.is_untouched(q, name) then
        asked = asked + 1
        unknown_names[asked], unknown_ids[asked], unknown_at[asked] = name, id, i
      elseif not lane_state.is_out_alone(q, name, id) then
        count = i - 1
        break
      end
    end
    at = at + step
  end
  local among = lane_out.count_alone(q, unknown_names, unknown_ids, 1, asked)
  return among < asked and unknown_at[among + 1] - 1 or count
end

-- Check: what a fetch does with a job of a lane that is not free: it passes if it is out; it enters if there is room
-- and none before it; else it goes back. `job` has its place.
function lanes.gate(q, job)
  local lane = lane_state.open(q, job.lane)
  if lane_state.is_blocked(lane) then
    return "back"
  end
  local at = lane_state.position(lane, job.id)
  if not at then
    -- One that nobody has held back yet goes into the lane first: a scheduler's iteration that came due, or a job that
    -- somebody has promoted.
    if not lane_state.has_room(lane) or lane_rules.of(q).ordering_delay > 0 and not job.has_run then
      return "back"
    end
    local first, place, member
    if lane_state.depth(q, lane) > 0 then
      first, place, member = lane_rest.first(q, lane.name)
    end
    local order, other = tonumber(job.order), tonumber(place)
    local is_first = not first or order < other or (order == other and lane_rest.member_of(job) <= member)
    return is_first and "enter" or "back"
  end
  local out = lane_state.out(lane)
  if #out <= lane.concurrency then
    return "pass"
  end
  -- More are out than may be: the limit was lowered. The first ones go on, once those that run are few enough.
  local running = 0
  for _, other in ipairs(out) do
    if other ~= job.id and leases.is_held(q, other) then
      running = running + 1
    end
  end
  return at <= lane.concurrency and running < lane.concurrency and "pass" or "back"
end

-- Write: the gate let in a job that was not out.
function lanes.let_in(q, job)
  lane_rules.mark(q)
  local lane = lane_state.open(q, job.lane)
  lane_state.remove_resting(q, lane, job)
  lane_state.add_out(q, lane, job.id)
end

-- Settle: a job that does not lie in the ready order any more goes back into its lane; whoever calls this lets the lane go on.
function lanes.put_back(q, job)
  local lane = lane_state.open(q, job.lane)
  local was_out = lane_state.drop(q, lane, job.id)
  if not was_out then
    -- Somebody has put it into the ready order; it may rest here as well.
    lane_state.know_place(q, job)
    lane_state.remove_resting(q, lane, job)
  end
  rest(q, lane, job, was_out and job.has_run)
end

-- Settle: the gate sent a job back, which has been taken out of the ready order.
function lanes.turn_back(q, job)
  lanes.put_back(q, job)
  release(q, lane_state.open(q, job.lane))
end

-- The next of a lane whose only one that was out has completed goes; `next_id` has been taken from its rest already.
local function hand_over_to(q, name, next_id)
  for _ = 1, MOST_GHOSTS do
    if not next_id or make_ready(q, next_id) then
      handovers.note(q, name, next_id or false)
      return
    end
    next_id = lane_rest.pop(q, name)
    if next_id then
      lane_state.set_waiting(q, next_id, false)
    end
  end
  -- Nobody is out and perhaps some rest: opened, the lane stays listed, and its upkeep goes on with it.
  handovers.note(q, name, false)
  lane_state.open(q, name)
end

-- The next of each lane, by its number; false for nobody. Kept from call to call, only as many as are counted belong to
-- this one.
local successors = { at = 0 }

-- Takes the next of each lane from its rest. A key that holds something else has nobody resting; any other trouble is
-- told when all are taken.
local function pop_all(q, names, count)
  local trouble
  successors.at = 0
  while successors.at < count do
    local is_done, err = pcall(lane_rest.pop_each, q, names, successors.at + 1, count, successors)
    if not is_done then
      successors[successors.at] = false
      trouble = trouble or not shapes.is_wrong_type(err) and err or nil
    end
  end
  return trouble
end

local function hand_over_one(q, name, next_id)
  if next_id then
    lane_state.set_waiting(q, next_id, false)
  end
  hand_over_to(q, name, next_id)
end

-- Settle: the only ones that were out of these lanes have completed and the next ones go, after `lanes.check_hand_over`.
-- A lane that cannot be moved on does not keep the others; its upkeep goes on with it.
function lanes.hand_over(q, names, count)
  -- Whom opened lanes have let out before goes before.
  if q.lane_books then
    lane_writing.push_all(q)
  end
  local trouble = pop_all(q, names, count)
  if not lane_rules.of(q).uses_priority then
    handovers.note_all(q, names, successors, count)
  else
    for i = 1, count do
      local is_done, err = pcall(hand_over_one, q, names[i], successors[i])
      trouble = trouble or not is_done and err or nil
    end
  end
  if trouble then
    error(trouble, 0)
  end
end

-- Settle: the job has finished for good and is out no more, and its lane halts where the queue wants that; whoever calls
-- this lets the lane go on.
function lanes.ended(q, name, id, outcome)
  local lane = lane_state.open(q, name)
  lane_state.drop(q, lane, id)
  if outcome == "failed" and lane_rules.of(q).on_failure == "halt" then
    lane_state.set_own(q, lane, { is_halted = true })
  end
end

-- Settle: the same, and the lane goes on.
function lanes.finished(q, name, id, outcome)
  lanes.ended(q, name, id, outcome)
  release(q, lane_state.open(q, name))
end

-- Takes a job that is not out from where it rests or waits for its time: `wait`, `delayed`, or nil. `is_long`: lines are
-- too long to be searched.
function lanes.take_out(q, job, is_long)
  lane_state.know_place(q, job)
  local lane = lane_state.open(q, job.lane)
  if lane_state.depth(q, lane) > 0 and lane_state.remove_resting(q, lane, job, is_long) then
    return "wait"
  end
  if lane_rules.of(q).uses_delayed and call("ZREM", q.lane_delayed, job.id) == 1 then
    lane_state.set_waiting(q, job.id, false)
    return "delayed"
  end
  return nil
end

-- Whether the job is out, as far as its lane knows.
function lanes.is_out(q, job)
  return lane_state.position(lane_state.open(q, job.lane), job.id) ~= nil
end

-- Settle: the job is gone for good; if it was out, the next may go.
function lanes.removed(q, job)
  local lane = lane_state.open(q, job.lane)
  if lane_state.drop(q, lane, job.id) then
    release(q, lane)
  end
end

-- A failing job steps aside instead of blocking its lane.
function lanes.skips(q)
  return lane_rules.of(q).on_retry == "skip"
end

-- Settle: the job, just failed, lets the next go and comes back to its own place: when it is due, or at once.
function lanes.skip(q, job, due)
  local lane = lane_state.open(q, job.lane)
  lane_state.drop(q, lane, job.id)
  release(q, lane)
  if due then
    lanes.postpone(q, job.id, due)
  else
    rest(q, lane, job)
    release(q, lane)
  end
end

return lanes
