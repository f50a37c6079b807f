-- One lane as a call knows it: who is out, who rests, what it has of its own. How who is out lies in the store is in
-- lane_out.lua, and the rules by which jobs move are in lanes.lua. A call reads a lane once and writes it once, when it
-- ends: a batch that moves a hundred lanes on writes a handful of commands for all of them.

local handovers = require("lib.lane_handovers")
local jobs = require("lib.jobs")
local lane_out = require("lib.lane_out")
local lane_rest = require("lib.lane_rest")
local lane_rules = require("lib.lane_rules")
local ready = require("lib.ready")
local shapes = require("lib.shapes")

local lane_state = {}

-- What one lane has of its own: `p` paused, `h` halted, digits for its concurrency.
local function read_own(lane, text)
  lane.is_paused = text and string.find(text, "p", 1, true) ~= nil or false
  lane.is_halted = text and string.find(text, "h", 1, true) ~= nil or false
  lane.own_concurrency = text and tonumber(string.match(text, "%d+"))
end

local function known_lanes(q)
  local known = q.known_lanes
  if not known then
    known = {}
    q.known_lanes = known
  end
  return known
end

-- What this call has to write when it ends.
local function books(q)
  local kept = q.lane_books
  if not kept then
    kept = { changed = {}, waiting = {}, pushed = {}, pushed_count = 0 }
    q.lane_books = kept
  end
  return kept
end

-- The lane as this call knows it. Nobody else writes meanwhile, so it is read once. `text` is who is out as it was
-- read; most lanes never need it as a list.
function lane_state.open(q, name)
  local lane = known_lanes(q)[name]
  if lane then
    return lane
  end
  local rules = lane_rules.of(q)
  local handed_to = handovers.of(q)[name]
  local text = lane_out.read(q, name) or ""
  -- All fields from the beginning: a table that grows is built anew each time.
  lane = {
    name = name, text = text, out = false, has_new_out = false, resting = false,
    is_listed = text ~= "", concurrency = rules.concurrency, own_concurrency = false, is_paused = false, is_halted = false,
  }
  if handed_to ~= nil then
    lane.out, lane.has_new_out, lane.is_listed = handed_to and { handed_to } or {}, true, true
    handovers.forget(q, name)
    books(q).changed[lane] = true
  end
  if rules.uses_own then
    read_own(lane, call("HGET", q.lane_settings, name))
    lane.concurrency = lane.own_concurrency or rules.concurrency
  end
  known_lanes(q)[name] = lane
  return lane
end

-- Who is out, in the order in which they went.
function lane_state.out(lane)
  if not lane.out then
    lane.out = lane_out.ids_of(lane.text)
  end
  return lane.out
end

-- Only this one is out, as it is nearly always.
function lane_state.is_alone(lane, id)
  return not lane.out and lane_out.tells_of_one(lane.text, id)
end

-- The same for a lane that this call may have nothing else to do with: it need not be opened.
function lane_state.is_out_alone(q, name, id)
  local known = q.known_lanes
  local lane = known and known[name]
  if not lane and not lane_rules.of(q).uses_own then
    return lane_out.tells_of_one(lane_out.read(q, name), id)
  end
  lane = lane or lane_state.open(q, name)
  return lane_state.is_alone(lane, id) and not lane_state.is_blocked(lane)
end

function lane_state.has_room(lane)
  return lane.out == false and lane.text == "" or #lane_state.out(lane) < lane.concurrency
end

function lane_state.is_blocked(lane)
  return lane.is_paused or lane.is_halted
end

-- How many rest in the lane.
function lane_state.depth(q, lane)
  if not lane.resting then
    lane.resting = lane_rest.count(q, lane.name)
  end
  return lane.resting
end

-- Follows what the call itself has added or taken.
local function count(lane, by)
  if lane.resting then
    lane.resting = lane.resting + by
  end
end

-- Check: the keys that lanes write before the call ends. What they write then is on its own: see flush.
function lane_state.check_keys(q)
  if q.are_lanes_checked then
    return
  end
  local rules = lane_rules.of(q)
  shapes.check(q, "wait")
  if rules.uses_own or rules.on_failure == "halt" then
    shapes.check(q, "lane_settings")
  end
  if rules.uses_held or rules.ordering_delay > 0 then
    shapes.check(q, "lane_held")
  end
  q.are_lanes_checked = true
end

-- Check: all that a lane has to write when one of its jobs ends.
function lane_state.check_end(q, name)
  lane_state.check_keys(q)
  lane_state.open(q, name)
end

-- The call has not touched the lane, and it has nothing of its own: who is out is all there is to know.
function lane_state.is_untouched(q, name)
  local known = q.known_lanes
  return not (known and known[name]) and handovers.of(q)[name] == nil and not lane_rules.of(q).uses_own
end

-- How many of these lanes, from `names[first]` on, this call has not touched.
function lane_state.count_untouched(q, names, first, last)
  -- Mostly it has not touched any.
  for i = first, (q.known_lanes or q.handed_count > 0) and last or 0 do
    if not lane_state.is_untouched(q, names[i]) then
      return i - first
    end
  end
  return last - first + 1
end

-- Check: the same where jobs that are out alone hand their lanes over to the next, as nearly always: `count` lanes, and
-- their jobs from `ids[first]` on. For how many of them, from the first on, it is so; those need not be opened.
function lane_state.check_hand_over(q, names, ids, first, count)
  lane_state.check_keys(q)
  count = lane_rules.of(q).hands_over and lane_state.count_untouched(q, names, 1, count) or 0
  return lane_out.count_alone(q, names, ids, first, count)
end

-- Check: all that it has to write when one comes or comes back.
function lane_state.check(q, name)
  lane_state.check_keys(q)
  lane_state.depth(q, lane_state.open(q, name))
  lane_rest.check(q, name)
end

-- Where the job stands in its lane, read where the transition did not know it.
function lane_state.know_place(q, job)
  if not job.order then
    local row = jobs.fields(q, job.id, jobs.field.order, jobs.field.lane_sequence) or {}
    job.order, job.sequence = row[1] or "0", row[2] or nil
  end
end

function lane_state.position(lane, id)
  if lane_state.is_alone(lane, id) then
    return 1
  end
  for i, other in ipairs(lane_state.out(lane)) do
    if other == id then
      return i
    end
  end
  return nil
end

-- The lane is to be written. Also where only its end is to be noticed.
function lane_state.touch(q, lane)
  books(q).changed[lane] = true
end

function lane_state.add_out(q, lane, id)
  local out = lane_state.out(lane)
  out[#out + 1] = id
  lane.has_new_out = true
  lane_state.touch(q, lane)
end

function lane_state.drop(q, lane, id)
  if lane_state.is_alone(lane, id) then
    lane.out = {}
  else
    local at = lane_state.position(lane, id)
    if not at then
      return false
    end
    table.remove(lane.out, at)
  end
  lane.has_new_out = true
  lane_state.touch(q, lane)
  return true
end

-- The job is in `lane_waiting` with this score, or (false) not any more.
function lane_state.set_waiting(q, id, score)
  books(q).waiting[id] = score
end

function lane_state.waiting_since(q, id)
  local score = books(q).waiting[id]
  if score == nil then
    score = call("ZSCORE", q.lane_waiting, id)
  end
  return tonumber(score or nil)
end

-- The job becomes ready: at once by its priority, otherwise with all the others that this call lets out; in a call that
-- adds jobs in its place among those.
function lane_state.push(q, id, priority)
  -- A key of a wrong type must not keep the lane from going on.
  if priority ~= 0 and pcall(ready.push_prioritized, q, id, priority) then
    return
  end
  if q.adding then
    ready.push(q, id)
    return
  end
  local kept = books(q)
  local count = kept.pushed_count + 1
  kept.pushed[count], kept.pushed_count = id, count
end

-- The job, whose place is known, comes to rest; in front of all others where that is said.
function lane_state.add_resting(q, lane, job, is_front)
  if lane_rest.add(q, lane.name, job, is_front) then
    count(lane, 1)
  end
  lane_state.touch(q, lane)
  lane_state.set_waiting(q, job.id, q.now_text)
end

local function leave_rest(q, lane, id)
  count(lane, -1)
  lane_state.touch(q, lane)
  lane_state.set_waiting(q, id, false)
end

-- Whether the job rests in a lane, as far as is known: to search a line for one that does not takes long.
local function is_resting(q, id)
  local is_read, since = pcall(lane_state.waiting_since, q, id)
  return not is_read or since and since >= 0
end

-- Takes a job, whose place is known, from its rest; whether it was there. `is_long`: lines are too long to be searched.
function lane_state.remove_resting(q, lane, job, is_long)
  if lane.resting == 0 then
    return false
  end
  local is_searched = not is_long and lane_rules.of(q).uses_lines and is_resting(q, job.id)
  if not lane_rest.remove(q, lane.name, job, is_searched) then
    return false
  end
  leave_rest(q, lane, job.id)
  return true
end

-- The same of an entry, as `lane_rest.range` tells of it.
function lane_state.drop_resting(q, lane, id, member)
  if lane_rest.drop(q, lane.name, id, member) then
    leave_rest(q, lane, id)
  end
end

-- Takes the first of those that rest; its id, or nil.
function lane_state.pop(q, lane)
  local id = lane_rest.pop(q, lane.name)
  if id then
    lane_state.set_waiting(q, id, false)
    count(lane, -1)
  else
    lane.resting = 0
  end
  return id
end

-- Write: what the lane has of its own. Told what changes; nothing left leaves no field.
function lane_state.set_own(q, lane, changes)
  for name, value in pairs(changes) do
    lane[name] = value
  end
  local text = (lane.is_paused and "p" or "") .. (lane.is_halted and "h" or "")
    .. (lane.own_concurrency and tostring(lane.own_concurrency) or "")
  if text == "" then
    call("HDEL", q.lane_settings, lane.name)
  else
    lane_rules.mark(q, "o")
    call("HSET", q.lane_settings, lane.name, text)
  end
  lane.concurrency = lane.own_concurrency or lane_rules.of(q).concurrency
  if lane_state.is_blocked(lane) then
    -- What this call has let out of it has to pass the gate again.
    q.lane_released = false
  end
  lane_state.touch(q, lane)
end

-- Write: nothing is left of the lane, whatever was out.
function lane_state.close(q, lane)
  lane.out, lane.has_new_out = {}, true
  lane_state.set_own(q, lane, { is_paused = false, is_halted = false, own_concurrency = false })
end

return lane_state
