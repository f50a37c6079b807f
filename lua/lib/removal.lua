-- Takes jobs out for good, alone or with what hangs on them.

local bonds = require("lib.bonds")
local events = require("lib.events")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local leases = require("lib.leases")
local queue = require("lib.queue")

local removal = {}

-- One call walks at most this many jobs of a tree: a flow is a few levels deep, not a database.
local MOST_IN_TREE = 10000

-- Takes the id out of the collection that holds it; that collection's suffix, or `unknown`.
local function take_out(q, id)
  if call("ZREM", q.completed, id) == 1 then return "completed" end
  if call("ZREM", q.waiting_children, id) == 1 then return "waiting-children" end
  if call("ZREM", q.delayed, id) == 1 then return "delayed" end
  if call("ZREM", q.failed, id) == 1 then return "failed" end
  if call("ZREM", q.prioritized, id) == 1 then return "prioritized" end
  if call("LREM", q.wait, 0, id) > 0 then return "wait" end
  if call("LREM", q.paused, 0, id) > 0 then return "paused" end
  if call("LREM", q.active, 0, id) > 0 then return "active" end
  return "unknown"
end

-- Settle: record and bonds of a job that the caller has taken out of its collection; no event.
function removal.erase(q, id, is_hard)
  local job = jobs.load(q, id)
  if job then
    bonds.removed(q, job, is_hard)
  end
  return jobs.erase(q, id) > 0
end

local function children_of(job_key, with_settled)
  local tail = keys.tail
  local children = {}
  local function take(list)
    for _, key in ipairs(list) do
      children[#children + 1] = key
    end
  end
  if with_settled then
    take(call("HKEYS", job_key .. tail.processed))
    take(call("HKEYS", job_key .. tail.failed))
    take(call("ZRANGE", job_key .. tail.unsuccessful, 0, -1))
  end
  take(call("SMEMBERS", job_key .. tail.dependencies))
  return children
end

-- Check: does a worker hold this job, or one that it still waits for?
function removal.is_locked(q, id, with_children, budget)
  if leases.is_held(q, id) then
    return true
  end
  if not with_children then
    return false
  end
  budget = budget or { left = MOST_IN_TREE }
  for _, child_key in ipairs(children_of(keys.job(q, id), false)) do
    budget.left = budget.left - 1
    if budget.left < 0 then
      error("too many children to remove in one call")
    end
    local root, child_id = keys.split_job(child_key)
    if removal.is_locked(queue.other(q, root), child_id, true, budget) then
      return true
    end
  end
  return false
end

-- Removes one job, its children first where asked; every job's own queue hears of it.
function removal.remove_tree(q, id, with_children)
  local job = jobs.load(q, id)
  if job and job.parent_key then
    bonds.expired(q, job)
  end
  if with_children then
    for _, child_key in ipairs(children_of(keys.job(q, id), true)) do
      local root, child_id = keys.split_job(child_key)
      removal.remove_tree(queue.other(q, root), child_id, true)
    end
  end
  local previous = take_out(q, id)
  if job then
    bonds.removed(q, job, false)
  end
  if jobs.erase(q, id) > 0 then
    events.capped(q, "removed", "jobId", id, "prev", previous)
  end
end

-- Removes the children that have not run: neither leased nor failed.
function removal.remove_unprocessed(q, id)
  for _, child_key in ipairs(children_of(keys.job(q, id), false)) do
    local root, child_id = keys.split_job(child_key)
    local p = queue.other(q, root)
    if not removal.is_locked(p, child_id, true) and not call("ZSCORE", p.failed, child_id) then
      removal.remove_tree(p, child_id, true)
    end
  end
end

return removal
