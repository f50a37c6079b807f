--- retry_group_compensation: the failed compensations of a group run again
--- @arg    group_id   string
--- @reply  ok | not_found | not_failed, then how many run again, or the state
local compensation = require("lib.compensation")
local groups = require("lib.groups")
local items = require("lib.items")
local record = require("lib.group_record")
local reprocess = require("transitions.reprocess")

return {
  run = function(home, arg)
    -- check
    local group = record.load(home, arg.group_id)
    if not group then
      return { "not_found", "" }
    end
    if group.state ~= "FAILED_COMPENSATION" then
      return { "not_failed", group.state }
    end
    local members = groups.check_cancel(group)

    -- settle
    local count = 0
    for _, member in ipairs(members) do
      if member.mapping > 0 and compensation.state(group, member.index) == "failed" then
        local c = compensation.queue_of(group, member)
        local again = { job_id = compensation.job_id(group, member.index), from = "failed", resets_made = true, resets_started = true }
        if reprocess(c, again) ~= "ok" then
          -- Its job is gone; the plan has all that a new one needs.
          group = record.load(home, arg.group_id)
          compensation.again(group, member)
          record.save(group)
        end
        count = count + 1
      end
    end
    return { "ok", tostring(count) }
  end,
  render = items.as_is,
}
