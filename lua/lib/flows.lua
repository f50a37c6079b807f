-- Parent and child. A child's key is in its parent's `:dependencies` exactly while it has not settled; what a
-- settled child leaves there decides when the parent may run. Parents may live in another queue.

local clock = require("lib.clock")
local events = require("lib.events")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local lanes = require("lib.lanes")
local leases = require("lib.leases")
local queue = require("lib.queue")
local ready = require("lib.ready")
local shapes = require("lib.shapes")
local signals = require("lib.signals")

local flows = {}

-- The parent as its child knows it: its queue, its id, and what is to happen when the child fails.
local function parent_of(q, job)
  local root, id = keys.split_job(job.parent_key)
  local policy = {}
  local text = job.parent or call("HGET", job.key, "parent")
  if text then
    local ok, told = pcall(cjson.decode, text)
    if ok and type(told) == "table" then
      for _, flag in ipairs({ "fpof", "cpof", "idof", "rdof" }) do
        policy[flag] = told[flag] and told[flag] ~= cjson.null
      end
      root = type(told.queueKey) == "string" and told.queueKey or root
      id = type(told.id) == "string" and told.id or id
    end
  end
  local p = queue.other(q, root)
  return p, { id = id, key = job.parent_key, policy = policy }
end

-- A parent that has been taken out of waiting-children (or delayed) goes where its own options say.
local function make_ready(p, parent)
  local job = jobs.load(p, parent.id) or { delay = 0, priority = 0 }
  if job.delay > 0 then
    local due = p.now + job.delay
    call("ZADD", p.delayed, clock.text(due * 4096), parent.id)
    events.append(p, "delayed", "jobId", parent.id, "delay", clock.text(due))
    signals.delay(p)
  else
    ready.enqueue(p, parent.id, job.priority, true)
    events.append(p, "waiting", "jobId", parent.id, "prev", "waiting-children")
  end
end

-- Check: the parent and its queue can be written.
function flows.check(q, job)
  local p, parent = parent_of(q, job)
  local tail = keys.tail
  queue.settings(p)
  events.check(p)
  shapes.check(p, "waiting_children", "delayed", "failed")
  ready.check(p, 0)
  ready.check(p, 1)
  shapes.expect(p, parent.key, "hash")
  shapes.expect(p, parent.key .. tail.dependencies, "set")
  shapes.expect(p, parent.key .. tail.processed, "hash")
  shapes.expect(p, parent.key .. tail.failed, "hash")
  shapes.expect(p, parent.key .. tail.unsuccessful, "zset")
end

local function release_if_free(p, parent)
  if call("SCARD", parent.key .. keys.tail.dependencies) == 0
    and call("EXISTS", parent.key) == 1
    and call("ZREM", p.waiting_children, parent.id) == 1 then
    make_ready(p, parent)
  end
end

-- The child failed and takes its parent down: the parent fails as soon as a worker picks it up.
local function doom(p, parent, child_key)
  call("ZADD", parent.key .. keys.tail.unsuccessful, p.now, child_key)
  if call("EXISTS", parent.key) == 0 then
    return
  end
  local reason = "child " .. child_key .. " failed"
  if call("ZREM", p.waiting_children, parent.id) == 1 then
    jobs.set(p, parent.id, jobs.field.deferred_failure, reason)
    make_ready(p, parent)
  elseif call("ZREM", p.delayed, parent.id) == 1 then
    jobs.set(p, parent.id, "delay", 0, jobs.field.deferred_failure, reason)
    make_ready(p, parent)
  elseif not call("ZSCORE", p.failed, parent.id) then
    jobs.set(p, parent.id, jobs.field.deferred_failure, reason)
  end
end

local function child_failed(p, parent, child_key, reason)
  local policy = parent.policy
  if not (policy.fpof or policy.cpof or policy.idof or policy.rdof) then
    return
  end
  if call("SREM", parent.key .. keys.tail.dependencies, child_key) == 0 then
    return
  end
  if policy.fpof then
    doom(p, parent, child_key)
  elseif policy.cpof then
    call("HSET", parent.key .. keys.tail.failed, child_key, reason)
    if call("ZREM", p.waiting_children, parent.id) == 1 then
      make_ready(p, parent)
    end
  else
    release_if_free(p, parent)
    if policy.idof then
      call("HSET", parent.key .. keys.tail.failed, child_key, reason)
    end
  end
end

-- Settle: a child has finished for good.
function flows.child_finished(q, job, outcome, value)
  local p, parent = parent_of(q, job)
  if outcome == "completed" then
    if call("SREM", parent.key .. keys.tail.dependencies, job.key) == 1 then
      call("HSET", parent.key .. keys.tail.processed, job.key, value)
      release_if_free(p, parent)
    end
  else
    child_failed(p, parent, job.key, value)
  end
end

-- Check: why a parent may not complete yet; nil where it may.
function flows.refusal(q, id)
  local key, tail = keys.job(q, id), keys.tail
  local dependencies, unsuccessful = key .. tail.dependencies, key .. tail.unsuccessful
  if not q.is_plain and leases.is_plain(q, dependencies, unsuccessful) then
    return nil
  end
  if not q.is_plain and call("SCARD", dependencies) > 0 then
    return "pending_children"
  end
  if call("ZCARD", unsuccessful) > 0 then
    return "failed_children"
  end
  return nil
end

-- Settle: a child disappears. `is_hard` (drain, clean, obliterate) takes a parent of the same queue along when
-- its last child goes; otherwise the parent becomes ready.
function flows.child_removed(q, job_key, parent_key, is_hard)
  if not parent_key or call("EXISTS", parent_key) == 0 then
    return
  end
  if call("SREM", parent_key .. keys.tail.dependencies, job_key) == 0 then
    return
  end
  if call("SCARD", parent_key .. keys.tail.dependencies) > 0 then
    return
  end
  local root, id = keys.split_job(parent_key)
  local p = queue.other(q, root)
  if call("ZREM", p.waiting_children, id) == 0 then
    return
  end
  if is_hard and root == q.root then
    local grandparent_key = call("HGET", parent_key, "parentKey")
    if grandparent_key then
      flows.child_removed(q, parent_key, grandparent_key, is_hard)
    end
    local lane = call("HGET", parent_key, jobs.field.lane)
    jobs.erase(p, id)
    if lane then
      lanes.removed(p, { id = id, lane = lane })
    end
    return
  end
  ready.push(p, id, true)
  if not is_hard then
    events.append(p, "waiting", "jobId", id, "prev", "waiting-children")
  end
end

-- Settle: a finished child runs again, so its parent has to wait for it again.
function flows.child_reprocessed(q, job, from)
  local p, parent = parent_of(q, job)
  local tail = keys.tail
  local was_settled
  if from == "completed" then
    was_settled = call("HDEL", parent.key .. tail.processed, job.key) == 1
  else
    was_settled = call("ZREM", parent.key .. tail.unsuccessful, job.key) == 1
      or call("HDEL", parent.key .. tail.failed, job.key) == 1
  end
  if was_settled and call("EXISTS", parent.key) == 1 then
    call("SADD", parent.key .. tail.dependencies, job.key)
  end
  return p
end

return flows
