--- configure_lanes: how the lanes of this queue behave
--- @arg    concurrency      string   jobs of a lane that may be out; empty leaves what is stored, as below
--- @arg    on_retry         string   block or skip
--- @arg    on_failure       string   continue or halt
--- @arg    ordering_delay   string   ms
--- @reply  changed | same
local items = require("lib.items")
local lane_rules = require("lib.lane_rules")

return {
  run = function(q, arg)
    -- check
    local rules = lane_rules.of(q)
    local changes, is_new = {}, false
    local function change(name, text, value)
      if text ~= "" and rules[name] ~= value then
        changes[name] = value
        is_new = true
      end
    end
    change("concurrency", arg.concurrency, tonumber(arg.concurrency))
    change("on_retry", arg.on_retry, arg.on_retry)
    change("on_failure", arg.on_failure, arg.on_failure)
    change("ordering_delay", arg.ordering_delay, tonumber(arg.ordering_delay))

    -- write
    if not is_new then
      return { "same" }
    end
    lane_rules.set(q, changes)
    return { "changed" }
  end,
  render = items.as_is,
}
