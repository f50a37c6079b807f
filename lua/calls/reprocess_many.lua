--- reprocess_many: finished jobs run again, oldest first
--- Those that may not, because their group has counted them, stay where they are.
--- @arg    from     string   completed or failed
--- @arg    cutoff   string   finished at or before this ms
--- @arg    most     int
--- @arg    skip     int      how many were left in place so far
--- @reply  how many were looked at, how many of them stay
local items = require("lib.items")
local reprocess = require("transitions.reprocess")

local STAYS = { group_member = true, compensation = true }

return {
  run = function(q, arg)
    local set = arg.from == "completed" and q.completed or q.failed
    local ids = call("ZRANGEBYSCORE", set, "-inf", arg.cutoff, "LIMIT", arg.skip, arg.most)
    local kept = 0
    for _, id in ipairs(ids) do
      local word = reprocess(q, { job_id = id, from = arg.from })
      if STAYS[word] then
        kept = kept + 1
      elseif word ~= "ok" then
        call("ZREM", set, id)
      end
    end
    return { tostring(#ids), tostring(kept) }
  end,
  render = items.as_is,
}
