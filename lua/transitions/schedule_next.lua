--- schedule_next: nothing -> waiting | prioritized | delayed
--- Right after an iteration of a scheduler was fetched, its successor is stored. Only the iteration that the
--- scheduler was waiting for does this, so retries and stalled runs do not schedule twice. One with a lane waits for its
--- time in `delayed` like all others: BullMQ, which makes and removes schedulers, looks for it there and nowhere else. Once
--- it is due, the gate of `claim` sorts it into its lane.
--- @call
--- @arg   job_id        string   the fetched iteration
--- @arg   schedule_id   string
--- @arg   next_at       string   ms, for cron patterns; empty where the interval decides
--- @arg   every         string   ms, if the definition has none
--- @arg   offset        string   ms, if the definition has none
--- @arg   opts          bytes    JSON of the options without their closing brace; job id and delay are added here
--- @arg   id_text       bytes    JSON text of the id without its number and closing quote
--- @arg   priority      int
--- @arg   is_next       flag
--- @arg   data          bytes    of the fetched iteration, for a definition that keeps none
--- @arg   lane          string   of the template; empty for none. Its place there is its time
--- @reply ok | duplicate | not_pending | removed
local adding = require("lib.adding")
local clock = require("lib.clock")
local delays = require("lib.delays")
local events = require("lib.events")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local lanes = require("lib.lanes")
local ready = require("lib.ready")
local schedules = require("lib.schedules")

return function(q, arg)
  -- check
  events.check(q)
  local previous = call("ZSCORE", q.schedules, arg.schedule_id)
  if not previous then
    return "removed"
  end
  local definition = keys.schedule(q, arg.schedule_id)
  local row = call("HMGET", definition, "name", "data", "every", "offset", "ic")
  if arg.job_id ~= "repeat:" .. arg.schedule_id .. ":" .. previous then
    return "not_pending"
  end
  local every = tonumber(row[3]) or tonumber(arg.every)
  local next_at = tonumber(arg.next_at)
  if every then
    next_at = schedules.next_every(tonumber(previous), every, q.now, tonumber(row[4]) or tonumber(arg.offset) or 0)
  end
  local id = "repeat:" .. arg.schedule_id .. ":" .. clock.text(next_at)
  local delay = math.max(next_at - q.now, 0)
  local is_taken = jobs.is_taken(q, id)
  local score = delay > 0 and not is_taken and delays.place(q, q.now + delay)
  ready.check(q, arg.priority)
  if arg.lane ~= "" then
    lanes.check(q, arg.lane)
  end

  -- write
  if is_taken then
    events.capped(q, "duplicated", "jobId", id)
    return "duplicate", id
  end
  local counter = call("INCR", q.counter)
  call("HINCRBY", definition, "ic", 1)
  call("ZADD", q.schedules, clock.text(next_at), arg.schedule_id)
  local name = row[1] or arg.schedule_id
  local data = row[2] or "{}"
  -- Repeatable jobs from before schedulers (they had no count) carry their data from job to job; from here on
  -- the definition keeps it, because this count makes it a scheduler's.
  if not row[2] and not row[5] and arg.data ~= "{}" then
    data = arg.data
    call("HSET", definition, "data", data)
  end
  local job = {
    name = name, data = data, delay = delay, priority = arg.priority,
    opts = arg.opts .. ',"jobId":' .. arg.id_text .. clock.text(next_at) .. '","delay":' .. clock.text(delay) .. "}",
  }
  local ties = { jobs.field.schedule_id, arg.schedule_id }
  if arg.lane ~= "" then
    job.lane, job.order, job.priority = arg.lane, clock.text(next_at), clock.text(arg.priority)
    if score then
      adding.store_in_lane(q, job, id, counter, q.now_text, ties)
      delays.put(q, id, score)
    else
      adding.write_in_lane(q, job, id, counter, q.now_text, false, ties)
    end
    return "ok", id
  end
  jobs.store(q, id, job, q.now_text, ties)
  events.append(q, "added", "jobId", id, "name", name)
  if score then
    delays.put(q, id, score)
  else
    ready.enqueue(q, id, arg.priority, arg.is_next)
    events.waiting(q, id)
  end
  return "ok", id
end
