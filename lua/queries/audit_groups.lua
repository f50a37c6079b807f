--- audit_groups: what open groups do not know of their jobs; changes nothing
--- @arg    first   int
--- @arg    last    int
--- @reply  how many groups were compared; group id, kind, job key, what the group says, what is true, of each finding
local care = require("lib.group_care")
local compensation = require("lib.compensation")
local keys = require("lib.keys")
local record = require("lib.group_record")

return function(home, arg)
  local rows = {}
  local ids = call("ZRANGE", keys.groups_of(home, "open"), arg.first, arg.last)
  for _, id in ipairs(ids) do
    local group = record.load(home, id)
    if group then
      for _, finding in ipairs(care.compare(group)) do
        local member = finding.member
        local is_member = finding.kind == "member"
        local key = is_member and member.key
          or keys.job(compensation.queue_of(group, member), compensation.job_id(group, member.index))
        rows[#rows + 1] = { id, finding.kind, key, is_member and member.status or "waiting", finding.outcome }
      end
    end
  end
  return { tostring(#ids), rows }
end
