-- The usual end, of jobs that had never begun when they were claimed and were seen to be tied to no more than a lane: what
-- the call has read for all its jobs is enough to know that they may end.

local batch_ends = require("lib.batch_ends")
local clock = require("lib.clock")
local events = require("lib.events")
local jobs = require("lib.jobs")
local lanes = require("lib.lanes")
local retention = require("lib.retention")
local shapes = require("lib.shapes")

local plain_ends = {}

local ATTEMPTS_MADE = jobs.field.attempts_made

-- Check: how many items from this one on may end so; none where the job has to be looked at.
function plain_ends.count(q, arg)
  local field_count = q.is_plain and arg.keep_count ~= "0" and clock.number(arg.field_count)
  return field_count and batch_ends.count_plain(q, q.item, q.run, arg.token, field_count) or 0
end

-- The number of the last item of a run that has ended.
local ended = 0

-- Write. Written out, because a function for each line would cost a good part of the whole.
local function write_ends(q, first, last, result)
  local ids, records, stream, now = q.firsts, batch_ends.records, q.events, q.now_text
  for number = first, last do
    ended = number
    call("HSET", records[number], ATTEMPTS_MADE, "1", "returnvalue", result, "finishedOn", now)
    call("XADD", stream, "*", "event", "completed", "jobId", ids[number], "returnvalue", result, "prev", "active")
  end
end

-- Settle: what was asked for beside it.
local function ask_for_retention(q, arg)
  if arg.keep_count ~= "" or arg.keep_age ~= "" then
    retention.ask(q, "completed", retention.of(arg.keep_count, arg.keep_age, arg.keep_limit))
  end
end

-- Write: the end of the only one, and the word of it where it was not told first.
local function write_end(q, id, result, is_told)
  call("HSET", batch_ends.records[1], ATTEMPTS_MADE, "1", "returnvalue", result, "finishedOn", q.now_text)
  if not is_told then
    events.completed(q, id, result)
  end
end

-- The only item of a call completes; `name` is its lane, nil for none. Nobody has looked what the keys hold: the first write
-- finds out, and what fails behind it takes back what was written. So short a call is as quick as it has few commands.
local function complete_alone(q, arg, name)
  local id, result = q.firsts[q.item], arg.result

  -- write
  local entry = events.completed_first(q, id, result)
  local is_fine, has_left = pcall(batch_ends.complete_one, q, id)
  if not (is_fine and has_left) then
    if entry then
      call("XDEL", q.events, entry)
    end
    if not is_fine then
      error(has_left, 0)
    end
    return "not_in_state"
  end
  q.has_finished, q.ended_count = true, 1
  local is_done, err = pcall(write_end, q, id, result, entry)

  -- settle. It has ended, also where that could not be written down.
  if name then
    lanes.finished(q, name, id, "completed")
  end
  if not is_done then
    error(err, 0)
  end
  ask_for_retention(q, arg)
  return "ok", nil, 1
end

-- `count` items from this one on complete. `name` is the lane of the only one that there is; nil for none.
function plain_ends.complete(q, arg, count, name)
  q.ended_count = 0
  if q.ends_one then
    return complete_alone(q, arg, name)
  end

  -- check
  local first = q.item
  if not q.can_complete then
    events.check(q)
    shapes.check_one(q, "completed")
    q.can_complete = true
  end

  -- write
  local is_done, err = pcall(write_ends, q, first, first + count - 1, arg.result)

  -- settle. What was begun has ended, also where one of them could not be told of.
  q.item, q.has_finished, q.ended_count = ended, true, ended - first + 1
  batch_ends.complete_run(q, first, ended)
  if name then
    lanes.finished(q, name, q.firsts[first], "completed")
  end
  if not is_done then
    error(err, 0)
  end
  events.trim(q)
  ask_for_retention(q, arg)
  return "ok", nil, count
end

-- The same of items that each hand their lane over to the next, `names` in the same order. What has ended hands over also
-- where one in the midst could not end.
function plain_ends.complete_and_hand_over(q, arg, count, names)
  local is_done, word, value, done = pcall(plain_ends.complete, q, arg, count)
  lanes.hand_over(q, names, q.ended_count)
  if not is_done then
    error(word, 0)
  end
  return word, value, done
end

return plain_ends
