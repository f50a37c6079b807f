--- remove: any but leased -> nothing
--- Also for a job that never existed. The pending iteration of a scheduler stays: remove the scheduler.
--- @call
--- @arg   job_id          string
--- @arg   with_children   flag
--- @reply ok | locked | scheduled | group_member | compensation
local jobs = require("lib.jobs")
local removal = require("lib.removal")
local schedules = require("lib.schedules")

return function(q, arg)
  -- check
  local job = jobs.load(q, arg.job_id)
  if job and schedules.is_pending(q, job.id, job.schedule_id) then
    return "scheduled"
  end
  local plan, refusal = removal.plan(q, arg.job_id, arg.with_children)
  if not plan then
    return refusal
  end

  -- settle
  removal.remove(plan)
  return "ok"
end
