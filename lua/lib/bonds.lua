-- What ties a job to something else. A transition has read the job's record; if no bond field is set, none
-- of this runs and a plain job pays nothing.

local batch_ends = require("lib.batch_ends")
local dedup = require("lib.dedup")
local flows = require("lib.flows")
local groups = require("lib.groups")
local lanes = require("lib.lanes")

local bonds = {}

-- Check: what the job is tied to can be written when the job is `completed`, `failed`, `removed` or runs again (nil).
function bonds.check(q, job, outcome)
  if job.dedup_id then
    dedup.check(q, job)
  end
  if job.parent_key then
    flows.check(q, job)
  end
  if job.group then
    groups.check(q, job, outcome)
  end
  if job.lane then
    if outcome == "completed" or outcome == "failed" then
      lanes.check_end(q, job.lane)
    else
      lanes.check(q, job.lane)
    end
  end
end

-- Check: why the job may not be removed by hand, after `bonds.check`; nil where it may.
function bonds.removal_refusal(job)
  return job.group and groups.removal_refusal(job) or nil
end

-- Check: why a finished job may not run again, after `bonds.check`; nil where it may.
function bonds.retry_refusal(job)
  return job.group and groups.retry_refusal(job) or nil
end

-- Check: true if a job that would wait again has to end instead.
function bonds.is_ending(q, job)
  return job.group and groups.is_ending(q, job) or false
end

-- Settle: the job waits again, after a failed attempt or by its handler's wish.
function bonds.waits(_, job)
  if job.group then
    groups.waits(job)
  end
end

-- Settle: the job finished for good, as `completed` with its result or as `failed` with its reason.
function bonds.finished(q, job, outcome, value)
  -- A parent may have finished in this call.
  if job.parent_key then
    batch_ends.flush(q)
  end
  if job.dedup_id then
    dedup.finished(q, job)
  end
  if job.parent_key then
    flows.child_finished(q, job, outcome, value)
  end
  if job.group then
    groups.finished(q, job, outcome, value)
  end
  if job.lane then
    lanes.finished(q, job.lane, job.id, outcome)
  end
end

-- Settle: a finished job is about to be erased by retention; its deduplication ended when it finished.
function bonds.expired(q, job)
  if job.parent_key then
    flows.child_removed(q, job.key, job.parent_key, false)
  end
  if job.group then
    groups.expired(q, job)
  end
end

-- Settle: the job is taken out for good.
function bonds.removed(q, job, is_hard)
  if job.parent_key then
    flows.child_removed(q, job.key, job.parent_key, is_hard)
  end
  if job.dedup_id then
    dedup.removed(q, job)
  end
  if job.group then
    groups.removed(q, job)
  end
  if job.lane then
    lanes.removed(q, job)
  end
end

-- Settle: a finished job goes back to run again.
function bonds.reprocessed(q, job, from)
  if job.parent_key then
    flows.child_reprocessed(q, job, from)
  end
  if job.group then
    groups.reprocessed(q, job)
  end
end

return bonds
