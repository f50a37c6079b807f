--- complete: active -> completed
--- Only the holder of the lease may complete; a late caller changes nothing. A parent with unsettled or
--- failed children is refused.
--- @arg   job_id      string
--- @arg   token       string
--- @arg   result      bytes
--- @arg   attempts_made string  attempts before this one, of a job that was seen to be tied to no more than a lane
--- @arg   lane        string   and that lane; empty for none
--- @arg   field_count string   and how many fields its record has since it was claimed; empty: look
--- @arg   keep_count  string=  how many completed jobs to keep; empty for all, 0 erases this one
--- @arg   keep_age    string=  seconds to keep a completed job; empty for ever
--- @arg   keep_limit  string=  how many old ones to delete at most; empty for the default
--- @again job_id
--- @reply ok | not_found | lease_missing | lease_lost | not_in_state | pending_children | failed_children
local batch_ends = require("lib.batch_ends")
local clock = require("lib.clock")
local events = require("lib.events")
local finish = require("lib.finish")
local flows = require("lib.flows")
local jobs = require("lib.jobs")
local lanes = require("lib.lanes")
local retention = require("lib.retention")
local shapes = require("lib.shapes")

local ATTEMPTS_MADE = jobs.field.attempts_made

-- The usual end, of jobs that were seen to be tied to no more than a lane: what the call has read for all its jobs is
-- enough to know that they may end. They are `count` items from this one on; more than one only without a lane.
local function complete_plain(q, arg, count)
  -- check
  local id, lane, result, first = arg.job_id, arg.lane, arg.result, q.item
  local ids = q.firsts
  local attempts_made = clock.text(clock.number(arg.attempts_made) + 1)
  if not q.can_complete then
    events.check(q)
    shapes.check_one(q, "completed")
    q.can_complete = true
  end
  local hands_over = lane ~= "" and lanes.check_hand_over(q, lane, id)

  local complete, records, stream, now = batch_ends.complete, batch_ends.records, q.events, q.now_text

  -- write. Written out, because a function for each line would cost a good part of the whole.
  for number = first, first + count - 1 do
    q.item, id = number, ids[number]
    if not complete(q, number, id) then
      return "not_in_state"
    end

    -- settle
    q.has_finished = true
    if hands_over then
      lanes.hand_over(q, lane)
    elseif lane ~= "" then
      lanes.finished(q, lane, id, "completed")
    end
    call("HSET", records[number], ATTEMPTS_MADE, attempts_made, "returnvalue", result, "finishedOn", now)
    call("XADD", stream, "*", "event", "completed", "jobId", id, "returnvalue", result, "prev", "active")
  end
  events.trim(q)
  if arg.keep_count ~= "" or arg.keep_age ~= "" then
    retention.ask(q, "completed", retention.of(arg.keep_count, arg.keep_age, arg.keep_limit))
  end
  return "ok", nil, count
end

return function(q, arg)
  -- check
  local field_count = q.is_plain and arg.keep_count ~= "0" and clock.number(arg.field_count)
  if field_count then
    local count = batch_ends.count_plain(q, q.item, arg.lane == "" and q.run or 1, arg.token, field_count)
    if count > 0 then
      return complete_plain(q, arg, count)
    end
  end
  local children = flows.refusal(q, arg.job_id)
  if children then
    return children
  end
  local job, refusal = finish.check(q, arg)
  if not job then
    return refusal
  end
  finish.check_end(q, job, "completed")

  -- write
  if not finish.leave_active(q, job, arg.token) then
    return "not_in_state"
  end

  -- settle
  local keep = retention.of(arg.keep_count, arg.keep_age, arg.keep_limit)
  finish.record(q, job, "completed", arg.result, keep)
  events.completed(q, job.id, arg.result)
  return "ok"
end
