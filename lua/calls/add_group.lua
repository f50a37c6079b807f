--- add_group: a group and all of its members, or nothing
--- Runs on the group's home. A group that exists is returned as it is.
--- @flags  refuses-when-full
--- @arg    group_id      string
--- @arg    name          string
--- @arg    compensation  bytes    the mapping as the user gave it, JSON
--- @arg    order         string   reverse, or empty
--- @arg    timeout_ms    string   empty for none
--- @item   mapping       name string, tail bytes, opts bytes, on_failed flag
--- @item   member        root string, mapping int, head bytes
--- @items  add | add_in_lane
--- @reply  added, ids of the members | exists, queue and id of each | taken, the key
local adding = require("lib.adding")
local clock = require("lib.clock")
local compensation = require("lib.compensation")
local delays = require("lib.delays")
local jobs = require("lib.jobs")
local items = require("lib.items")
local keys = require("lib.keys")
local queue = require("lib.queue")
local record = require("lib.group_record")
local shapes = require("lib.shapes")

local function copy(arg)
  local own = {}
  for name, value in pairs(arg) do
    own[name] = value
  end
  return own
end

-- A member is two items, `member` and how it is added; the mappings come first. Readers reuse their table.
local function read(batch)
  local mappings, members = {}, {}
  local argv, at = batch.argv, batch.first
  while at <= #argv do
    local verb = argv[at]
    local arg, following = batch.readers[verb](argv, at)
    if verb == "mapping" then
      mappings[#mappings + 1] = cmsgpack.pack({ arg.name, arg.tail, arg.opts, arg.on_failed })
    elseif verb == "member" then
      members[#members + 1] = { root = arg.root, mapping = arg.mapping, head = arg.head }
    else
      members[#members].add = copy(arg)
    end
    at = following
  end
  return mappings, members
end

-- The key of a member that cannot be added, or nil.
local function check_members(home, members)
  local seen, places = {}, {}
  for _, member in ipairs(members) do
    local p = queue.other(home, member.root)
    member.q = p
    queue.settings(p)
    shapes.check_number(p, "counter")
    member.is_looked_after = record.is_looked_after(p, home)
    local is_taken
    is_taken, member.timestamp, member.score = adding.check(p, member.add)
    local key = member.add.job_id ~= "" and keys.job(p, member.add.job_id)
    if is_taken or key and seen[key] then
      return key
    end
    if key then
      seen[key] = true
    end
    if member.score and not member.add.lane then
      -- None is written yet: those due in the same millisecond keep the order in which they were given.
      local mine = places[p] or {}
      local others = mine[member.score] or 0
      places[p], mine[member.score] = mine, others + 1
      member.score = delays.behind(member.score, others)
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

return {
  run = function(home, arg, batch)
    -- check
    local existing = record.load(home, arg.group_id)
    if existing then
      return { "exists", unpack(existing_ids(existing)) }
    end
    local mappings, members = read(batch)
    local taken = check_members(home, members)
    if taken then
      return { "taken", taken }
    end
    local group = { home = home, id = arg.group_id, key = keys.group(home, arg.group_id), state = "ACTIVE" }
    local has_remains = record.check_new(group)
    local leftovers, unsettled = compensation.leftovers(group, members)
    if unsettled then
      return { "taken", unsettled }
    end

    -- write
    compensation.clear(leftovers)
    if has_remains then
      record.clear(group)
    end
    local statuses, plan, packed, ids, homes = {}, {}, {}, {}, {}
    for i, member in ipairs(members) do
      local p = member.q
      local tie = record.tie("member", i - 1, member.mapping, group.key)
      local id = adding.write(p, member.add, member.timestamp, member.score, { jobs.field.group, tie })
      local key = keys.job(p, id)
      ids[i] = id
      statuses[2 * i - 1], statuses[2 * i] = key, "pending"
      packed[3 * i - 2], packed[3 * i - 1], packed[3 * i] = p.root, id, member.mapping
      if member.mapping > 0 then
        plan[#plan + 1], plan[#plan + 2] = "h" .. (i - 1), head_of(member, id)
      end
      if not member.is_looked_after and not homes[p] then
        homes[p] = true
        record.look_after(p, home)
      end
    end
    for i, mapping in ipairs(mappings) do
      plan[#plan + 1], plan[#plan + 2] = "m" .. i, mapping
    end
    group.timeout_at = arg.timeout_ms ~= "" and home.now + tonumber(arg.timeout_ms) or nil
    call("HSET", group.key, "name", arg.name, "state", "ACTIVE", "createdAt", home.now_text, "updatedAt", home.now_text,
      "totalJobs", #members, "completedCount", 0, "failedCount", 0, "cancelledCount", 0, "compensation", arg.compensation,
      "members", cmsgpack.pack(packed))
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
    return { "added", unpack(ids) }
  end,
  render = items.as_is,
}
