--- configure_lanes: how the lanes of this queue behave
--- @arg    concurrency      string   jobs of a lane that may be out; empty leaves what is stored, as below
--- @arg    on_retry         string   block or skip
--- @arg    on_failure       string   continue or halt
--- @arg    ordering_delay   string   ms
--- @reply  changed | same
local items = require("lib.items")
local queue = require("lib.queue")

local FIELDS = {
  concurrency = "yoke.laneConcurrency", on_retry = "yoke.laneOnRetry", on_failure = "yoke.laneOnFailure",
  ordering_delay = "yoke.orderingDelayMs",
}

return {
  run = function(q, arg)
    -- check
    queue.settings(q)
    local fields = {}
    for name, field in pairs(FIELDS) do
      if arg[name] ~= "" and call("HGET", q.meta, field) ~= arg[name] then
        fields[#fields + 1], fields[#fields + 2] = field, arg[name]
      end
    end

    -- write
    if #fields == 0 then
      return { "same" }
    end
    call("HSET", q.meta, unpack(fields))
    return { "changed" }
  end,
  render = items.as_is,
}
