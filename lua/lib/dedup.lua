-- Deduplication: `de:<id>` names the job that stands for a deduplication id; `dn:<id>` keeps the last add
-- that was swallowed while that job was active and is due to run after it.

local delays = require("lib.delays")
local events = require("lib.events")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local ready = require("lib.ready")
local shapes = require("lib.shapes")

local dedup = {}

local function pairs_of(flat)
  local map = {}
  for i = 1, #flat, 2 do
    map[flat[i]] = flat[i + 1]
  end
  return map
end

-- The swallowed add becomes a job of its own. Its options travel as the text they were stored as; they are
-- only looked into.
local function run_next(q, dedup_id, next_job)
  local ok, opts = pcall(cjson.decode, next_job.opts or "{}")
  if not ok or type(opts) ~= "table" then
    opts = {}
  end
  local rule = type(opts.de) == "table" and opts.de or {}
  local counter = call("INCR", q.counter)
  local id = next_job.jid or string.format("%.0f", counter)
  local holder = keys.dedup_holder(q, dedup_id)
  local ttl = tonumber(rule.ttl)
  if ttl and ttl > 0 and not rule.keepLastIfActive then
    call("SET", holder, id, "PX", ttl)
  else
    call("SET", holder, id)
  end
  local delay, priority = tonumber(opts.delay) or 0, tonumber(opts.priority) or 0
  local ties = { jobs.field.dedup_id, dedup_id }
  if next_job.pk then
    ties[#ties + 1], ties[#ties + 2] = "parentKey", next_job.pk
    ties[#ties + 1], ties[#ties + 2] = "parent", next_job.pd or ""
  end
  if next_job.rjk then
    ties[#ties + 1], ties[#ties + 2] = jobs.field.schedule_id, next_job.rjk
  end
  local name = next_job.name or ""
  jobs.store(q, id, {
    name = name, data = next_job.data or "{}", opts = next_job.opts or "{}",
    delay = delay, priority = priority,
  }, q.now_text, ties)
  events.append(q, "added", "jobId", id, "name", name)
  if delay > 0 then
    delays.put(q, id, delays.place(q, q.now + delay))
  else
    ready.enqueue(q, id, priority, opts.lifo == true)
    events.waiting(q, id)
  end
  if next_job.pdk then
    call("SADD", next_job.pdk, keys.job(q, id))
  end
end

-- Check: the keys of this deduplication, and where a swallowed add would go.
function dedup.check(q, job)
  shapes.expect(q, keys.dedup_holder(q, job.dedup_id), "string")
  local next_key = keys.dedup_next(q, job.dedup_id)
  shapes.expect(q, next_key, "hash")
  if call("EXISTS", next_key) == 1 then
    shapes.check_number(q, "counter")
    shapes.check(q, "delayed")
    ready.check(q, 0)
    ready.check(q, 1)
  end
end

-- Settle: the job that stands for the id has finished for good.
function dedup.finished(q, job)
  local holder = keys.dedup_holder(q, job.dedup_id)
  local ttl = call("PTTL", holder)
  if ttl == 0 or (ttl == -1 and call("GET", holder) == job.id) then
    call("DEL", holder)
  end
  local next_key = keys.dedup_next(q, job.dedup_id)
  local next_job = call("HGETALL", next_key)
  if #next_job > 0 then
    run_next(q, job.dedup_id, pairs_of(next_job))
    call("DEL", next_key)
  end
end

-- Settle: the job is being removed unfinished, or after it finished.
function dedup.removed(q, job)
  local holder = keys.dedup_holder(q, job.dedup_id)
  if call("GET", holder) == job.id then
    call("DEL", holder, keys.dedup_next(q, job.dedup_id))
  end
end

return dedup
