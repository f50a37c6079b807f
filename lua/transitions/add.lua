--- add: nothing -> waiting | prioritized | delayed
--- Stores a job and makes it runnable, now or later. A custom id that exists changes nothing but the counter.
--- @arg   job_id     string   empty for an automatic id
--- @arg   name       string
--- @arg   data       bytes
--- @arg   opts       bytes
--- @arg   timestamp  string=  creation time in ms; empty for the time of the call
--- @arg   delay      string=0 ms after the timestamp; 0 for none
--- @arg   priority   string=0
--- @arg   is_next    flag=    runs before all that waits
--- @again data
--- @reply added | duplicate
local adding = require("lib.adding")
local batch_adds = require("lib.batch_adds")
local events = require("lib.events")

return function(q, arg)
  -- check
  local is_duplicate, timestamp, score = adding.check(q, arg)

  -- write
  if is_duplicate then
    batch_adds.next_number(q)
    events.capped(q, "duplicated", "jobId", arg.job_id)
    return "duplicate", arg.job_id
  end
  return "added", adding.write(q, arg, timestamp, score)
end
