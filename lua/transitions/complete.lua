--- complete: active -> completed
--- Only the holder of the lease may complete; a late caller changes nothing. A parent with unsettled or
--- failed children is refused.
--- @arg   job_id      string
--- @arg   token       string
--- @arg   result      bytes
--- @arg   attempts_made string  attempts before this one, of a job that was seen to be tied to no more than a lane; empty: look
--- @arg   lane        string   and that lane; empty for none
--- @arg   keep_count  string=  how many completed jobs to keep; empty for all, 0 erases this one
--- @arg   keep_age    string=  seconds to keep a completed job; empty for ever
--- @arg   keep_limit  string=  how many old ones to delete at most; empty for the default
--- @again job_id
--- @reply ok | not_found | lease_missing | lease_lost | not_in_state | pending_children | failed_children
local batch_ends = require("lib.batch_ends")
local events = require("lib.events")
local finish = require("lib.finish")
local flows = require("lib.flows")
local lanes = require("lib.lanes")
local retention = require("lib.retention")
local shapes = require("lib.shapes")

-- The usual end, of a job that was seen to be tied to no more than a lane: what the call has read for all its jobs is
-- enough to know that it may end. `key` and `number` are those of `batch_ends.plain`.
local function complete_plain(q, arg, key, number)
  -- check
  local id, lane, attempts_made = arg.job_id, arg.lane, arg.attempts_made + 1
  if not q.can_complete then
    events.check(q)
    shapes.check_one(q, "completed")
    q.can_complete = true
  end
  local hands_over = lane ~= "" and lanes.check_hand_over(q, lane, id)

  -- write
  if not batch_ends.complete_plain(q, id, number) then
    return "not_in_state"
  end

  -- settle
  if not q.has_finished then
    q.has_finished = true
    events.trim(q)
  end
  if hands_over then
    lanes.hand_over(q, lane)
  elseif lane ~= "" then
    lanes.finished(q, lane, id, "completed")
  end
  finish.write(q, key, attempts_made, "returnvalue", arg.result)
  if arg.keep_count ~= "" or arg.keep_age ~= "" then
    retention.ask(q, "completed", retention.of(arg.keep_count, arg.keep_age, arg.keep_limit))
  end
  events.completed(q, id, arg.result)
  return "ok"
end

return function(q, arg)
  -- check
  if q.is_plain and arg.attempts_made ~= "" and arg.keep_count ~= "0" then
    local key, number = batch_ends.plain(q, arg.job_id, arg.token)
    if key then
      return complete_plain(q, arg, key, number)
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
