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

local function remove_one(home, id)
  local group = record.load(home, id)
  if not group then
    return { "not_found" }
  end
  if record.is_open(group.state) then
    return { "not_terminal", group.state }
  end
  record.erase(home, id, group.state)
  return { "ok", id }
end

return {
  run = function(home, arg)
    -- check
    shapes.expect(home, keys.groups(home), "zset")

    -- write
    if arg.group_id ~= "" then
      return remove_one(home, arg.group_id)
    end
    local ids = call("ZRANGEBYSCORE", keys.groups_of(home, arg.state), "-inf", arg.cutoff, "LIMIT", 0, arg.most)
    for _, id in ipairs(ids) do
      record.erase(home, id, arg.state)
    end
    return { "ok", unpack(ids) }
  end,
  render = items.as_is,
}
