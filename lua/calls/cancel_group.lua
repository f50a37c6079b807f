--- cancel_group: an active group is undone
--- @arg    group_id   string
--- @arg    reason     string
--- @reply  ok | not_found | not_active, then the state
local groups = require("lib.groups")
local items = require("lib.items")
local record = require("lib.group_record")

return {
  run = function(home, arg)
    -- check
    local group = record.load(home, arg.group_id)
    if not group then
      return { "not_found", "" }
    end
    if group.state ~= "ACTIVE" then
      return { "not_active", group.state }
    end
    local members = groups.check_cancel(group)

    -- settle
    groups.compensate(group, members, "", arg.reason)
    return { "ok", group.state }
  end,
  render = items.as_is,
}
