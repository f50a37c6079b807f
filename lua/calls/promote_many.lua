--- promote_many: delayed jobs become runnable now, earliest first
--- @arg    most   int
--- @reply  how many were promoted
local items = require("lib.items")
local promote = require("transitions.promote")

return {
  run = function(q, arg)
    local ids = call("ZRANGE", q.delayed, 0, arg.most - 1)
    for _, id in ipairs(ids) do
      if promote(q, { job_id = id }) ~= "ok" then
        call("ZREM", q.delayed, id)
      end
    end
    return { tostring(#ids) }
  end,
  render = items.as_is,
}
