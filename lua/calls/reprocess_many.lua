--- reprocess_many: finished jobs run again, oldest first
--- @arg    from     string   completed or failed
--- @arg    cutoff   string   finished at or before this ms
--- @arg    most     int
--- @reply  how many were moved
local items = require("lib.items")
local reprocess = require("transitions.reprocess")

return {
  run = function(q, arg)
    local set = arg.from == "completed" and q.completed or q.failed
    local ids = call("ZRANGEBYSCORE", set, "-inf", arg.cutoff, "LIMIT", 0, arg.most)
    for _, id in ipairs(ids) do
      if reprocess(q, { job_id = id, from = arg.from }) ~= "ok" then
        call("ZREM", set, id)
      end
    end
    return { tostring(#ids) }
  end,
  render = items.as_is,
}
