-- How a job enters its queue: what `add` does for one, and a group for all of its members at once. The check is
-- apart from the write, so that many can be checked before the first is written.

local clock = require("lib.clock")
local delays = require("lib.delays")
local events = require("lib.events")
local jobs = require("lib.jobs")
local ready = require("lib.ready")

local adding = {}

-- Check: whether the id is taken, the job's creation time, and its place among the delayed (false for none).
function adding.check(q, arg)
  events.check(q)
  local is_taken = arg.job_id ~= "" and jobs.is_taken(q, arg.job_id)
  ready.check(q, tonumber(arg.priority))
  local timestamp = arg.timestamp ~= "" and arg.timestamp or q.now_text
  local score = arg.delay ~= "0" and not is_taken and delays.place(q, tonumber(timestamp) + tonumber(arg.delay))
  return is_taken, timestamp, score
end

-- Write: the job is in the queue; its id. `ties` are further fields of its record, flat.
function adding.write(q, arg, timestamp, score, ties)
  local counter = call("INCR", q.counter)
  local id = arg.job_id
  if id == "" then
    id = clock.text(counter)
  end
  arg.timestamp = timestamp
  jobs.store(q, id, arg, ties)
  events.append(q, "added", "jobId", id, "name", arg.name)
  if score then
    delays.put(q, id, score)
  else
    ready.enqueue(q, id, tonumber(arg.priority), arg.is_next)
    events.capped(q, "waiting", "jobId", id)
  end
  return id
end

return adding
