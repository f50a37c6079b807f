--- complete: active -> completed
--- Only the holder of the lease may complete; a late caller changes nothing. A parent with unsettled or
--- failed children is refused.
--- @arg   job_id      string
--- @arg   token       string
--- @arg   result      bytes
--- @arg   field_count string   of a job that had never begun and was seen to be tied to nothing: how many fields its record has since it was claimed; empty: look
--- @arg   keep_count  string=  how many completed jobs to keep; empty for all, 0 erases this one
--- @arg   keep_age    string=  seconds to keep a completed job; empty for ever
--- @arg   keep_limit  string=  how many old ones to delete at most; empty for the default
--- @again job_id
--- @reply ok | not_found | lease_missing | lease_lost | not_in_state | pending_children | failed_children
local events = require("lib.events")
local finish = require("lib.finish")
local flows = require("lib.flows")
local plain_ends = require("lib.plain_ends")
local retention = require("lib.retention")

-- `plain_count` is what `plain_ends.count` says, where it was asked before.
return function(q, arg, plain_count)
  -- check
  local count = plain_count or plain_ends.count(q, arg)
  if count > 0 then
    return plain_ends.complete(q, arg, count)
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
