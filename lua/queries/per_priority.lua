--- per_priority: how many ready jobs each priority has
--- @rest   priorities
--- @reply  a count for each
local ready = require("lib.ready")

return function(q, _, priorities)
  local counts = {}
  for i, text in ipairs(priorities) do
    local priority = tonumber(text)
    if priority == 0 then
      counts[i] = call("LLEN", q.wait)
    else
      counts[i] = call("ZCOUNT", q.prioritized, priority * ready.band, (priority + 1) * ready.band - 1)
    end
  end
  return counts
end
