--- exchange: a worker hands in what it has finished and gets what it has room for
--- @arg    fetch_count     int      how many jobs the worker has room for; 0 fetches nothing
--- @arg    token           string   for the jobs it gets
--- @arg    lease_ms        string
--- @arg    worker          string   the worker's name; empty for none
--- @arg    limit_max       string   the worker's own rate limit; empty for none
--- @arg    limit_ms        string
--- @arg    max_bytes       int      the fetch ends after this much payload
--- @items  complete | fail | retry | delay | give_back | await_children
--- @reply  finished, fetched, dropped ids, limited for ms, next due ms, is more ready
local delays = require("lib.delays")
local events = require("lib.events")
local items = require("lib.items")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local limits = require("lib.limits")
local queue = require("lib.queue")
local signals = require("lib.signals")
local claim = require("transitions.claim")

local transitions = {
  complete = require("transitions.complete"),
  fail = require("transitions.fail"),
  retry = require("transitions.retry"),
  delay = require("transitions.delay"),
  give_back = require("transitions.give_back"),
  await_children = require("transitions.await_children"),
}

local function has_verb(list, ...)
  for i = 1, #list do
    for _, verb in ipairs({ ... }) do
      if list[i].verb == verb then
        return true
      end
    end
  end
  return false
end

-- A worker takes at most half of what is ready, so that one does not swallow a burst while others idle. A
-- single job is never halved away.
local function share(q, wanted)
  if wanted <= 1 then
    return wanted
  end
  local ready_count = call("LLEN", q.wait)
  if ready_count < 2 * wanted then
    ready_count = ready_count + call("ZCARD", q.prioritized)
  end
  return math.min(wanted, math.max(1, math.ceil(ready_count / 2)))
end

-- How many jobs may start now, or 0 and for how many ms the rate limit holds.
local function allowance(q, arg, limit_max)
  local limited_ms = limits.remaining_ms(q, limit_max)
  if limited_ms > 0 then
    return 0, limited_ms
  end
  local settings = queue.settings(q)
  if settings.is_paused then
    return 0, 0
  end
  local wanted = arg.fetch_count
  if settings.concurrency then
    wanted = math.min(wanted, settings.concurrency - call("LLEN", q.active))
  end
  if limit_max then
    wanted = math.min(wanted, limits.room(q, limit_max))
  end
  return wanted > 0 and share(q, wanted) or 0, 0
end

-- Claims `count` jobs in the order in which they run. The records come along, so that nothing is read twice.
local function fetch(q, arg, count, fetched, limit_max, limit_ms)
  local claimed_bytes = 0
  local function take(from, id)
    arg.job_id, arg.from = id, from
    local word, flat, record = claim(q, arg)
    if word == "ghost" then
      fetched.ghosts[#fetched.ghosts + 1] = id
      return
    end
    fetched.ids[#fetched.ids + 1] = id
    fetched.records[id] = flat
    claimed_bytes = claimed_bytes + #(record.data or "")
    -- A job that only fails without running does not use up the rate.
    if limit_max and not record[jobs.field.deferred_failure] then
      limits.count_start(q, limit_ms)
    end
  end

  local waiting = call("LRANGE", q.wait, -count, -1)
  for i = #waiting, 1, -1 do
    if claimed_bytes >= arg.max_bytes then
      return
    end
    take("wait", waiting[i])
  end
  count = count - #waiting
  if count > 0 then
    local prioritized = call("ZRANGE", q.prioritized, 0, count - 1)
    for _, id in ipairs(prioritized) do
      if claimed_bytes >= arg.max_bytes then
        return
      end
      take("prioritized", id)
    end
    if #prioritized == 0 then
      call("DEL", q.priority_counter)
    end
  end
end

local function is_empty(q)
  return call("LLEN", q.wait) == 0 and call("LLEN", q.active) == 0 and call("ZCARD", q.prioritized) == 0
end

local function run(q, arg, list)
  if has_verb(list, "retry") then
    delays.promote_due(q)
  end
  local outcome = { finished = items.run(q, list, transitions), ids = {}, ghosts = {}, records = {}, limited_ms = 0, due = 0 }

  local is_settled = false
  if arg.fetch_count > 0 then
    delays.promote_due(q)
    local limit_max, limit_ms = limits.of(q, tonumber(arg.limit_max), tonumber(arg.limit_ms))
    local count
    count, outcome.limited_ms = allowance(q, arg, limit_max)
    if count > 0 then
      fetch(q, arg, count, outcome, limit_max, limit_ms)
    end
    if #outcome.ids > 0 then
      signals.work_always(q)
      outcome.is_more = #outcome.ids < arg.fetch_count and (call("LLEN", q.wait) > 0 or call("ZCARD", q.prioritized) > 0)
    else
      outcome.due = signals.next_due(q) or 0
      is_settled = outcome.limited_ms > 0 or queue.settings(q).is_paused or outcome.due > 0
    end
  end
  if #outcome.ids == 0 and not is_settled and has_verb(list, "complete", "fail") and is_empty(q) then
    events.append(q, "drained")
  end
  return outcome
end

-- Only ids are kept for a call that is sent again; jobs whose lease this worker still has are read anew.
local function render(q, outcome, arg)
  local fetched = {}
  for _, id in ipairs(outcome.ids) do
    local flat = outcome.records and outcome.records[id]
    if not flat and (arg.token == "0" or call("GET", keys.lock(q, id)) == arg.token) then
      flat = jobs.read(q, id)
    end
    if flat then
      fetched[#fetched + 1] = id
      fetched[#fetched + 1] = flat
    end
  end
  return {
    outcome.finished, fetched, outcome.ghosts, string.format("%.0f", outcome.limited_ms),
    string.format("%.0f", math.floor(outcome.due)), outcome.is_more and "1" or "",
  }
end

return {
  run = run,
  render = render,
}
