--- await_children: active -> waiting-children
--- The handler of a parent steps aside until its children have settled.
--- @arg   job_id      string
--- @arg   token       string
--- @arg   child_key   string   wait for this child only; empty for all
--- @reply ok | nothing_pending | not_found | lease_missing | lease_lost | not_in_state | failed_children
local events = require("lib.events")
local finish = require("lib.finish")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local shapes = require("lib.shapes")

local function is_pending(q, arg)
  local dependencies = keys.of_job(q, arg.job_id, "dependencies")
  if arg.child_key ~= "" then
    return call("SISMEMBER", dependencies, arg.child_key) == 1
  end
  return call("SCARD", dependencies) > 0
end

return function(q, arg)
  -- check
  if call("ZCARD", keys.of_job(q, arg.job_id, "unsuccessful")) > 0 then
    return "failed_children"
  end
  if jobs.exists(q, arg.job_id) and not is_pending(q, arg) then
    return "nothing_pending"
  end
  local job, refusal = finish.check(q, arg)
  if not job then
    return refusal
  end
  shapes.check(q, "waiting_children")

  -- write
  if not finish.leave_active(q, job, arg.token) then
    return "not_in_state"
  end
  call("ZADD", q.waiting_children, q.now_text, job.id)
  events.append(q, "waiting-children", "jobId", job.id, "prev", "active")
  return "ok"
end
