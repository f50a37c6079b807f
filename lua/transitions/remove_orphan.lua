--- remove_orphan: lost -> nothing
--- A record that lies in no collection of its queue is deleted; one that does is left alone.
--- @call
--- @arg   job_id   string
--- @reply ok | placed
local jobs = require("lib.jobs")

return function(q, arg)
  -- check
  if jobs.place(q, arg.job_id) or call("SISMEMBER", q.stalled, arg.job_id) == 1 then
    return "placed"
  end

  -- write
  jobs.erase(q, arg.job_id)
  return "ok"
end
