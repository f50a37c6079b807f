--- promote_many: delayed jobs become runnable now, earliest first
--- @arg    most   int
--- @reply  how many were promoted
local items = require("lib.items")
local lane_times = require("lib.lane_times")
local queue = require("lib.queue")
local promote = require("transitions.promote")

return {
  run = function(q, arg)
    local ids = call("ZRANGE", q.delayed, 0, arg.most - 1)
    for _, id in ipairs(ids) do
      if promote(q, { job_id = id }) ~= "ok" then
        call("ZREM", q.delayed, id)
      end
    end
    local count = #ids
    if queue.settings(q).lanes and count < arg.most then
      count = count + lane_times.promote_many(q, arg.most - count)
    end
    return { tostring(count) }
  end,
  render = items.as_is,
}
