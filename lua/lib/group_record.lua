-- A group's record: its fields, its members, its place among the groups of its home. What changes the state of a
-- group is in lib.groups; this only reads and writes.

local clock = require("lib.clock")
local events = require("lib.events")
local keys = require("lib.keys")
local queue = require("lib.queue")
local shapes = require("lib.shapes")

local record = {}

-- A job's tie to its group: role, place in the group, number of its compensation's mapping (0 for none), key of the
-- group. All that a transition needs to find the group, without a look-up.
function record.tie(role, index, mapping, group_key)
  return role .. ":" .. clock.text(index) .. ":" .. clock.text(mapping) .. ":" .. group_key
end

-- The tie taken apart, or nil where it is none of ours.
function record.untie(q, text)
  local role, index, mapping, root, id = string.match(text, "^(%l+):(%d+):(%d+):(.*):groups:([^:]*)$")
  if not role then
    return nil
  end
  return { role = role, index = tonumber(index), mapping = tonumber(mapping), home = queue.other(q, root), group_id = id }
end

-- A member's place, its mapping and the key of its group, all as text; nil where it is no member's tie. Every fetch and
-- every finish of a member asks for this, and taking the key itself apart would cost more than all the rest.
local function member_tie(text)
  local index, mapping, key = string.match(text, "^member:(%d+):(%d+):(.+)$")
  if key and string.find(key, ":groups:", 1, true) then
    return index, mapping, key
  end
  return nil
end

local JOBS_TAIL = keys.group_tail.jobs

-- Where the status of the member with this tie is kept; nil where it is no member's.
function record.statuses_of(text)
  local _, _, key = member_tie(text)
  return key and key .. JOBS_TAIL
end

-- Check: members may be added to this queue, and whether its workers look after this home's open groups already; asked
-- once per call.
function record.check_queue(q, home)
  if q.takes_members_of == home.root then
    return
  end
  queue.settings(q)
  shapes.check_number(q, "counter")
  q.looks_after = call("ZSCORE", keys.homes(q), home.root) and home.root or false
  q.takes_members_of = home.root
end

-- Write: from now on they do; the score says when they last did.
function record.look_after(q, home)
  if q.looks_after ~= home.root then
    call("ZADD", keys.homes(q), "NX", "0", home.root)
    q.looks_after = home.root
  end
end

function record.is_open(state)
  return state == "ACTIVE" or state == "COMPENSATING"
end

function record.is_settled(status)
  return status == "completed" or status == "failed" or status == "cancelled"
end

-- Check: the group, or nil where it is gone.
function record.load(home, id)
  local key = keys.group(home, id)
  local row = call("HMGET", key, "state", "name", "totalJobs", "completedCount", "failedCount", "cancelledCount", "undoing",
    "undoFailed", "order", "timeoutAt")
  if not row[1] then
    return nil
  end
  return {
    home = home,
    id = id,
    key = key,
    state = row[1],
    name = row[2] or "",
    total = tonumber(row[3]) or 0,
    completed = tonumber(row[4]) or 0,
    failed = tonumber(row[5]) or 0,
    cancelled = tonumber(row[6]) or 0,
    -- Compensations that have not settled, and those that have failed.
    undoing = tonumber(row[7]) or 0,
    undo_failed = tonumber(row[8]) or 0,
    is_reverse = row[9] == "reverse",
    timeout_at = tonumber(row[10]),
  }
end

-- Check: the ACTIVE group of the member with this tie, with no more than counting a completed member needs, and the
-- member's place and mapping; nil for any other tie or group. Nothing of it has failed, been cancelled or undone. Its
-- home is looked for by `check_count`, where it is needed.
function record.load_active(text)
  local index, mapping, key = member_tie(text)
  local row = key and call("HMGET", key, "name", "state", "totalJobs", "completedCount", "order")
  if not row or row[2] ~= "ACTIVE" then
    return nil
  end
  local group = {
    home = false,
    id = false,
    key = key,
    state = "ACTIVE",
    name = row[1] or "",
    total = tonumber(row[3]) or 0,
    completed = tonumber(row[4]) or 0,
    is_reverse = row[5] == "reverse",
  }
  return group, tonumber(index), tonumber(mapping)
end

-- Members that may still run.
function record.unsettled(group)
  return group.total - group.completed - group.failed - group.cancelled
end

-- Check: one more member may complete, and the group with the last; status and record have been read.
function record.check_count(q, group, mapping)
  if mapping > 0 then
    shapes.expect(q, group.key .. keys.group_tail.plan, "hash")
    if group.is_reverse then
      shapes.expect(q, group.key .. keys.group_tail.undo, "list")
    end
  end
  if group.completed + 1 >= group.total then
    local root, id = string.match(group.key, "^(.*):groups:([^:]*)$")
    local home = queue.other(q, root)
    group.home, group.id = home, id
    queue.settings(home)
    events.check(home)
    shapes.expect(home, keys.groups_of(home, "open"), "zset")
    shapes.expect(home, keys.groups_of(home, "COMPLETED"), "zset")
  end
end

-- Check: there is a group with this id, or something is left of one, which has to go first.
function record.has_remains(group)
  local key, tail = group.key, keys.group_tail
  return call("EXISTS", key, key .. tail.jobs, key .. tail.plan, key .. tail.undo) > 0
end

-- Check: a group can be begun here; asked once per call.
function record.check_new(home)
  if home.takes_groups then
    return
  end
  shapes.expect(home, keys.groups(home), "zset")
  shapes.expect(home, keys.groups_of(home, "open"), "zset")
  home.takes_groups = true
end

-- Write: what is left of an earlier group goes, whatever it is.
function record.clear(group)
  local tail = keys.group_tail
  call("DEL", group.key .. tail.jobs, group.key .. tail.plan, group.key .. tail.undo)
end

-- Check: what hangs on the group can be written.
function record.check(group)
  local home = group.home
  queue.settings(home)
  shapes.expect(home, group.key .. keys.group_tail.jobs, "hash")
  shapes.expect(home, group.key .. keys.group_tail.plan, "hash")
  shapes.expect(home, group.key .. keys.group_tail.undo, "list")
  shapes.expect(home, keys.groups_of(home, "open"), "zset")
  shapes.expect(home, keys.groups_of(home, "marked"), "list")
  for _, state in ipairs({ "COMPENSATING", "COMPLETED", "FAILED", "FAILED_COMPENSATION" }) do
    shapes.expect(home, keys.groups_of(home, state), "zset")
  end
end

function record.status(group, job_key)
  return call("HGET", group.key .. JOBS_TAIL, job_key)
end

function record.set_status(group, job_key, status)
  call("HSET", group.key .. JOBS_TAIL, job_key, status)
end

local function member_at(group, flat, index)
  local root, id = flat[3 * index + 1], flat[3 * index + 2]
  return { index = index, key = keys.job(queue.other(group.home, root), id), root = root, id = id, mapping = flat[3 * index + 3] }
end

local function packed_members(group)
  local packed = call("HGET", group.key, "members")
  return packed and cmsgpack.unpack(packed) or {}
end

-- The member at this place, or nil.
function record.member(group, index)
  local flat = packed_members(group)
  if not flat[3 * index + 1] then
    return nil
  end
  local member = member_at(group, flat, index)
  member.status = record.status(group, member.key) or "pending"
  return member
end

-- Members in the order in which they were given: key, queue, id, mapping and status of each.
function record.members(group)
  local flat = packed_members(group)
  local members, names = {}, {}
  for index = 0, #flat / 3 - 1 do
    local member = member_at(group, flat, index)
    members[index + 1], names[index + 1] = member, member.key
  end
  if #names > 0 then
    local statuses = call("HMGET", group.key .. keys.group_tail.jobs, unpack(names))
    for i, member in ipairs(members) do
      member.status = statuses[i] or "pending"
    end
  end
  return members
end

-- The counts as they are now; the state too where it is given, with its time.
function record.save(group, state)
  if not state then
    call("HSET", group.key, "completedCount", group.completed, "failedCount", group.failed, "cancelledCount", group.cancelled,
      "undoing", group.undoing, "undoFailed", group.undo_failed)
    return
  end
  local home = group.home
  call("HSET", group.key, "state", state, "updatedAt", home.now_text, "completedCount", group.completed, "failedCount",
    group.failed, "cancelledCount", group.cancelled, "undoing", group.undoing, "undoFailed", group.undo_failed)
  if group.state ~= "ACTIVE" then
    call("ZREM", keys.groups_of(home, group.state), group.id)
  end
  call("ZADD", keys.groups_of(home, state), home.now_text, group.id)
  if not record.is_open(state) then
    call("ZREM", keys.groups_of(home, "open"), group.id)
  end
  group.state = state
end

-- The last member of an ACTIVE group has completed: no other count has changed.
function record.complete(group)
  local home = group.home
  call("HSET", group.key, "state", "COMPLETED", "updatedAt", home.now_text, "completedCount", clock.text(group.completed))
  call("ZADD", keys.groups_of(home, "COMPLETED"), home.now_text, group.id)
  call("ZREM", keys.groups_of(home, "open"), group.id)
  group.state = "COMPLETED"
end

-- Looked at again by maintenance at this time, or at its timeout if that is earlier.
function record.check_at(group, time)
  if group.state == "ACTIVE" and group.timeout_at and group.timeout_at < time then
    time = group.timeout_at
  end
  local home = group.home
  call("ZADD", keys.groups_of(home, "open"), time == home.now and home.now_text or clock.text(time), group.id)
end

-- A terminal group disappears with all that is known of it; its jobs stay as they are.
function record.erase(home, id, state)
  local key, tail = keys.group(home, id), keys.group_tail
  call("DEL", key, key .. tail.jobs, key .. tail.plan, key .. tail.undo)
  call("ZREM", keys.groups(home), id)
  if state then
    call("ZREM", keys.groups_of(home, state), id)
  end
end

return record
