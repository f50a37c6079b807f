-- Takes jobs out for good, alone or with what hangs on them.

local bonds = require("lib.bonds")
local events = require("lib.events")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local lanes = require("lib.lanes")
local leases = require("lib.leases")
local queue = require("lib.queue")
local schedules = require("lib.schedules")
local shapes = require("lib.shapes")

local removal = {}

-- One call walks at most this many jobs of a tree: a flow is a few levels deep, not a database.
local MOST_IN_TREE = 10000

-- Takes the job out of the collection that holds it; that collection's suffix, or `unknown`. `job` is nil where there
-- is no record. Whoever takes out a job for good tells its bonds (`bonds.removed`), and its lane goes on.
function removal.take_out(q, id, job)
  if job and job.lane then
    local from_lane = lanes.take_out(q, job)
    if from_lane then return from_lane end
    -- What this call has let out lies where it is looked for now.
    lanes.push_all(q)
  end
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

-- Whether it is the iteration that a scheduler waits for: without it there would be no other.
function removal.is_kept(q, id)
  local schedule_id = string.match(id, "^repeat:(.*):%d+$")
  if not schedule_id then
    return false
  end
  local job = jobs.load(q, id)
  return job and schedules.is_pending(q, id, job.schedule_id or schedule_id) or false
end

-- One job of a whole collection that goes: read before anything is written, so that an error leaves it where it
-- was. No event. Without a key: one that rests in its lane or waits there for its time. False if it does not any more: the
-- end of another has let it out, and it lies in the ready order.
function removal.discard(q, key, is_list, id)
  local job = jobs.load(q, id)
  if job then
    bonds.check(q, job, "removed")
  end
  if not key then
    local is_let_out = job and job.lane and not lanes.take_out(q, job) and lanes.is_out(q, job)
    -- Also one that its lane does not know, or it would be met again and again.
    call("ZREM", q.lane_waiting, id)
    call("ZREM", q.lane_delayed, id)
    if is_let_out then
      return false
    end
  elseif is_list then
    call("LREM", key, -1, id)
  else
    call("ZREM", key, id)
  end
  if job then
    bonds.removed(q, job, true)
  end
  jobs.erase(q, id)
  return true
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

-- Check: reads the job, and the tree below it where asked, before anything is removed. nil if a worker holds
-- the job or one that it still waits for; those that have settled are not asked.
local function plan(q, id, with_children, is_settled, walk)
  local key = keys.job(q, id)
  walk.left = walk.left - 1
  if walk.left < 0 then
    error("too many children to remove in one call", 0)
  end
  walk.seen[key] = true
  if not is_settled and leases.is_held(q, id) then
    return nil
  end
  events.check(q)
  shapes.check(q, unpack(shapes.places))
  local node = { q = q, id = id, job = jobs.load(q, id), children = {} }
  if node.job then
    bonds.check(q, node.job, "removed")
    walk.refusal = walk.refusal or bonds.removal_refusal(node.job)
  end
  if not with_children then
    return node
  end
  local pending = {}
  for _, child_key in ipairs(children_of(key, false)) do
    pending[child_key] = true
  end
  for _, child_key in ipairs(children_of(key, true)) do
    local root, child_id = keys.split_job(child_key)
    if root and not walk.seen[child_key] then
      local child = plan(queue.other(q, root), child_id, true, is_settled or not pending[child_key], walk)
      if not child then
        return nil
      end
      node.children[#node.children + 1] = child
    end
  end
  return node
end

-- Check: what removing this job takes along, or nil and the word why something of it has to stay.
function removal.plan(q, id, with_children)
  local walk = { left = MOST_IN_TREE, seen = {} }
  local node = plan(q, id, with_children, false, walk)
  if walk.refusal then
    return nil, walk.refusal
  end
  return node, "locked"
end

-- Check: the same of a job that goes with its lane, also of a member of a group, which is undone then. One that rests is
-- nobody's, whatever lock was left behind.
function removal.plan_with_lane(q, id, is_resting)
  return plan(q, id, false, is_resting, { left = 1, seen = {} })
end

-- Check: the children that have not run, neither leased nor failed, each with all below it.
function removal.plan_unprocessed(q, id)
  local plans = {}
  for _, child_key in ipairs(children_of(keys.job(q, id), false)) do
    local root, child_id = keys.split_job(child_key)
    local p = root and queue.other(q, root)
    local node = p and not call("ZSCORE", p.failed, child_id) and removal.plan(p, child_id, true)
    if node then
      plans[#plans + 1] = node
    end
  end
  return plans
end

-- Settle: removes what was planned, children first; every job's own queue hears of it.
function removal.remove(node)
  local q, id, job = node.q, node.id, node.job
  if job then
    bonds.expired(q, job)
  end
  for _, child in ipairs(node.children) do
    removal.remove(child)
  end
  local previous = removal.take_out(q, id, job)
  if job then
    bonds.removed(q, job, false)
  end
  if jobs.erase(q, id) > 0 then
    events.capped(q, "removed", "jobId", id, "prev", previous)
  end
end

return removal
