--- change_priority: waiting | prioritized -> waiting | prioritized
--- Also from the list in which older clients park the jobs of a paused queue. In any other state only the
--- stored priority changes, for the next time the job becomes ready: its lane may have to look at it by then.
--- @call
--- @arg   job_id     string
--- @arg   priority   int
--- @arg   is_next    flag     in front of its new peers
--- @reply ok | not_found
local jobs = require("lib.jobs")
local lane_rules = require("lib.lane_rules")
local queue = require("lib.queue")
local ready = require("lib.ready")
local shapes = require("lib.shapes")

return function(q, arg)
  -- check
  if not jobs.exists(q, arg.job_id) then
    return "not_found"
  end
  shapes.check(q, "wait", "paused", "prioritized")
  ready.check(q, arg.priority)

  -- write
  if call("ZREM", q.prioritized, arg.job_id) == 1 or call("LREM", q.wait, -1, arg.job_id) > 0
    or call("LREM", q.paused, -1, arg.job_id) > 0 then
    if arg.priority > 0 and arg.is_next then
      ready.push_prioritized_front(q, arg.job_id, arg.priority)
    else
      ready.enqueue(q, arg.job_id, arg.priority, arg.is_next)
    end
  end
  jobs.set(q, arg.job_id, "priority", arg.priority)
  if arg.priority > 0 and queue.settings(q).lanes then
    lane_rules.mark(q, "p")
  end
  return "ok"
end
