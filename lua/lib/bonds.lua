-- What ties a job to something else. A transition has read the job's record; if no bond field is set, none
-- of this runs and a plain job pays nothing.

local dedup = require("lib.dedup")
local flows = require("lib.flows")
local lanes = require("lib.lanes")

local bonds = {}

-- Check: what the job is tied to can be written when it finishes, runs again or goes.
function bonds.check(q, job)
  if job.dedup_id then
    dedup.check(q, job)
  end
  if job.parent_key then
    flows.check(q, job)
  end
  if job.lane then
    lanes.check(q, job.lane)
  end
end

-- Settle: the job finished for good, as `completed` with its result or as `failed` with its reason.
function bonds.finished(q, job, outcome, value)
  if job.dedup_id then
    dedup.finished(q, job)
  end
  if job.parent_key then
    flows.child_finished(q, job, outcome, value)
  end
  if job.lane then
    lanes.finished(q, job, outcome)
  end
end

-- Settle: a finished job is about to be erased by retention; its deduplication ended when it finished.
function bonds.expired(q, job)
  if job.parent_key then
    flows.child_removed(q, job.key, job.parent_key, false)
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
  if job.lane then
    lanes.removed(q, job)
  end
end

-- Settle: a finished job goes back to run again.
function bonds.reprocessed(q, job, from)
  if job.parent_key then
    flows.child_reprocessed(q, job, from)
  end
end

return bonds
