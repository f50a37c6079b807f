--- remove_groups: forgets terminal groups, one by its id or those of a state that ended before a moment
--- Their jobs stay as they are.
--- @arg    group_id   string   empty for all of the state
--- @arg    state      string   a terminal state; empty with an id
--- @arg    cutoff     string   ms
--- @arg    most       int      how many this call may remove
--- @reply  ok | not_found | not_terminal, then the ids, or the state
local items = require("lib.items")
local keys = require("lib.keys")
local record = require("lib.group_record")
local shapes = require("lib.shapes")

return {
  run = function(home, arg)
    -- check
    shapes.expect(home, keys.groups(home), "zset")
    local ids, state = { arg.group_id }, arg.state
    if arg.group_id == "" then
      ids = call("ZRANGEBYSCORE", keys.groups_of(home, state), "-inf", arg.cutoff, "LIMIT", 0, arg.most)
    else
      local group = record.load(home, arg.group_id)
      if not group then
        return { "not_found" }
      end
      state = group.state
      if record.is_open(state) then
        return { "not_terminal", state }
      end
      shapes.expect(home, keys.groups_of(home, state), "zset")
    end

    -- write
    for _, id in ipairs(ids) do
      record.erase(home, id, state)
    end
    return { "ok", unpack(ids) }
  end,
  render = items.as_is,
}
