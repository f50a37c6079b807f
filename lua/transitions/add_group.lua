--- add_group: nothing -> waiting | prioritized | delayed
--- A group and all of its members, or nothing. Runs on the group's home; what it consists of, `mappings` and `members`,
--- the call has put together; `read_add` reads how a member is added, and each time into the same table. A group that
--- exists is returned as it is.
--- @arg   group_id      string
--- @arg   name          string
--- @arg   compensation  bytes    the mapping as the user gave it, JSON
--- @arg   order         string=  reverse, or empty
--- @arg   timeout_ms    string=  empty for none
--- @reply added | exists | taken
local adding = require("lib.adding")
local clock = require("lib.clock")
local compensation = require("lib.compensation")
local delays = require("lib.delays")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local queue = require("lib.queue")
local record = require("lib.group_record")

-- None is written yet: those due in the same millisecond keep the order in which they were given.
local function behind_others(places, p, score)
  local mine = places[p] or {}
  local others = mine[score] or 0
  places[p], mine[score] = mine, others + 1
  return delays.behind(score, others)
end

-- The key of a member that cannot be added, or nil.
local function check_members(home, arg)
  local seen, places = {}, {}
  for _, member in ipairs(arg.members) do
    local p, add = queue.other(home, member.root), arg.read_add(member)
    member.q = p
    record.check_queue(p, home)
    local is_taken
    is_taken, member.timestamp, member.score = adding.check(p, add)
    if add.job_id ~= "" then
      local key = keys.job(p, add.job_id)
      if is_taken or seen[key] then
        return key
      end
      seen[key] = true
    end
    if member.score and not add.lane then
      member.score = behind_others(places, p, member.score)
    end
  end
  return nil
end

-- Of a group that exists: whatever this call wanted to add, these are its members.
local function existing_ids(group)
  local ids = {}
  for i, member in ipairs(record.members(group)) do
    ids[2 * i - 1], ids[2 * i] = member.root, member.id
  end
  return ids
end

-- The member's head: compensation data up to the place of its result. An automatic id is not known before.
local function head_of(member, id)
  return (string.gsub(member.head, "%z", function() return id end))
end

-- The word, and with it the ids of the members, queue and id of each that exists, or the key that is taken.
return function(home, arg)
  -- check
  local group = { home = home, id = arg.group_id, key = keys.group(home, arg.group_id), state = "ACTIVE" }
  local has_remains = record.has_remains(group)
  local existing = has_remains and record.load(home, arg.group_id)
  if existing then
    return "exists", existing_ids(existing)
  end
  local members = arg.members
  local taken = check_members(home, arg)
  if taken then
    return "taken", taken
  end
  record.check_new(home)
  local leftovers, unsettled = compensation.leftovers(group, members)
  if unsettled then
    return "taken", unsettled
  end

  -- write
  compensation.clear(leftovers)
  if has_remains then
    record.clear(group)
  end
  local statuses, plan, packed, ids = {}, {}, {}, {}
  for i, member in ipairs(members) do
    local p = member.q
    local tie = record.tie("member", i - 1, member.mapping, group.key)
    local id = adding.write(p, arg.read_add(member), member.timestamp, member.score, { jobs.field.group, tie })
    ids[i] = id
    statuses[2 * i - 1], statuses[2 * i] = keys.job(p, id), "pending"
    packed[3 * i - 2], packed[3 * i - 1], packed[3 * i] = p.root, id, member.mapping
    if member.mapping > 0 then
      plan[#plan + 1], plan[#plan + 2] = "h" .. (i - 1), head_of(member, id)
    end
    record.look_after(p, home)
  end
  for i, mapping in ipairs(arg.mappings) do
    plan[#plan + 1], plan[#plan + 2] = "m" .. i, mapping
  end
  group.timeout_at = arg.timeout_ms ~= "" and home.now + tonumber(arg.timeout_ms) or nil
  call("HSET", group.key, "name", arg.name, "state", "ACTIVE", "createdAt", home.now_text, "updatedAt", home.now_text,
    "totalJobs", clock.text(#members), "completedCount", "0", "failedCount", "0", "cancelledCount", "0",
    "compensation", arg.compensation, "members", cmsgpack.pack(packed))
  if arg.order ~= "" then
    call("HSET", group.key, "order", arg.order)
  end
  if group.timeout_at then
    call("HSET", group.key, "timeoutAt", clock.text(group.timeout_at))
  end
  call("HSET", group.key .. keys.group_tail.jobs, unpack(statuses))
  if #plan > 0 then
    call("HSET", group.key .. keys.group_tail.plan, unpack(plan))
  end
  call("ZADD", keys.groups(home), home.now_text, group.id)
  record.check_at(group, home.now)
  return "added", ids
end
