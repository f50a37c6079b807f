--- group: one group as it is now
--- @arg    group_id       string
--- @arg    with_members   flag
--- @reply  fields and values of the record; queue, id, status, compensation's job id, its state and its failure of each member
local compensation = require("lib.compensation")
local keys = require("lib.keys")
local record = require("lib.group_record")

local FIELDS = {
  "name", "state", "createdAt", "updatedAt", "totalJobs", "completedCount", "failedCount", "cancelledCount",
  "compensation", "order", "timeoutAt", "failedJobId", "reason",
}

return function(home, arg)
  local group = record.load(home, arg.group_id)
  if not group then
    return { {}, {} }
  end
  local values = call("HMGET", group.key, unpack(FIELDS))
  local fields, rows = {}, {}
  for i, name in ipairs(FIELDS) do
    if values[i] then
      fields[#fields + 1], fields[#fields + 2] = name, values[i]
    end
  end
  if arg.with_members then
    for _, member in ipairs(record.members(group)) do
      local index = member.index
      local row = call("HMGET", group.key .. keys.group_tail.plan, "c" .. index, "v" .. index)
      rows[#rows + 1] = { member.root, member.id, member.status, compensation.job_id(group, index), row[1] or "", row[2] or "" }
    end
  end
  return { fields, rows }
end
