-- What complete and fail have in common: the job leaves `active` for good.

local batch_ends = require("lib.batch_ends")
local bonds = require("lib.bonds")
local clock = require("lib.clock")
local events = require("lib.events")
local jobs = require("lib.jobs")
local leases = require("lib.leases")
local retention = require("lib.retention")
local shapes = require("lib.shapes")

local finish = {}

local ATTEMPTS_MADE = jobs.field.attempts_made

-- Check: the job, or nil and the word why not.
function finish.check(q, arg)
  local job = jobs.load_brief(q, arg.job_id)
  if not job then
    return nil, "not_found"
  end
  local refusal = leases.refusal(q, arg.job_id, arg.token)
  if refusal then
    return nil, refusal
  end
  events.check(q)
  leases.look(q)
  return job
end

-- Check: where the job ends, and what it is tied to, can take it.
function finish.check_end(q, job, target)
  shapes.check_one(q, target)
  bonds.check(q, job, target)
end

-- Write: false where the job was not active, and then nothing has changed.
function finish.leave_active(q, job, token)
  if not batch_ends.leave_active(q, job.id) then
    return false
  end
  leases.drop(q, job.id, token)
  return true
end

-- A job that would wait again but must not is taken out, as if it had never begun.
function finish.withdraw(q, job, token)
  -- check
  bonds.check(q, job, "removed")

  -- write
  if not finish.leave_active(q, job, token) then
    return "not_in_state"
  end

  -- settle
  bonds.removed(q, job, true)
  jobs.erase(q, job.id)
  events.capped(q, "removed", "jobId", job.id, "prev", "active")
  return "cancelled"
end

-- Settle: what a finished job's record says of its end. `attempts_made` is text.
function finish.write(q, key, attempts_made, field, value)
  call("HSET", key, ATTEMPTS_MADE, attempts_made, field, value, "finishedOn", q.now_text)
end

-- Settle: bonds, record, retention. The events follow in the transition, which knows their names.
function finish.record(q, job, target, value, keep)
  q.has_finished = true
  events.trim(q)
  bonds.finished(q, job, target, value)
  job.attempts_made = job.attempts_made + 1
  if retention.keeps_none(keep) then
    jobs.erase(q, job.id)
    bonds.expired(q, job)
    return
  end
  batch_ends.finish(q, target, job.id)
  finish.write(q, job.key, clock.text(job.attempts_made), target == "completed" and "returnvalue" or "failedReason", value)
  retention.ask(q, target, keep)
end

return finish
