--- remove: any but leased -> nothing
--- Also for a job that never existed. The pending iteration of a scheduler stays: remove the scheduler.
--- @call
--- @arg   job_id          string
--- @arg   with_children   flag
--- @reply ok | locked | scheduled
local events = require("lib.events")
local jobs = require("lib.jobs")
local removal = require("lib.removal")
local schedules = require("lib.schedules")

return function(q, arg)
  -- check
  events.check(q)
  local job = jobs.load(q, arg.job_id)
  if job and schedules.is_pending(q, job.id, job.schedule_id) then
    return "scheduled"
  end
  if removal.is_locked(q, arg.job_id, arg.with_children) then
    return "locked"
  end

  -- settle
  removal.remove_tree(q, arg.job_id, arg.with_children)
  return "ok"
end
