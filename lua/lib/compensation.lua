-- Undoing a group: what has not run is taken out, and for each member that has completed a job is added that undoes
-- it. Compensation data is spliced as text; nothing of the user's is decoded.

local adding = require("lib.adding")
local events = require("lib.events")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local lane_rest = require("lib.lane_rest")
local lanes = require("lib.lanes")
local leases = require("lib.leases")
local batch_ends = require("lib.batch_ends")
local queue = require("lib.queue")
local ready = require("lib.ready")
local record = require("lib.group_record")
local shapes = require("lib.shapes")

local compensation = {}

-- Taking one job out of a list costs about this much per entry it holds; beyond the limit members are only marked.
local SCAN_MS_PER_ENTRY = 0.000015
local MOST_SCAN_MS = 10

local function job_id(group, index)
  return group.id .. "-" .. index
end

-- Where the compensation of this member runs.
local function queue_of(group, member)
  return queue.other(group.home, keys.compensation_root(member.root))
end

-- Check: every queue that the undoing may write to can take it.
function compensation.check(group, members)
  local home = group.home
  for _, member in ipairs(members) do
    if not record.is_settled(member.status) then
      local p = queue.other(home, member.root)
      events.check(p)
      if queue.settings(p).lanes then
        member.lane = call("HGET", member.key, jobs.field.lane)
        if member.lane then
          lanes.check(p, member.lane)
        end
      end
      shapes.check(p, "wait", "paused", "active", "prioritized", "delayed", "completed", "failed")
    end
    if member.mapping > 0 then
      local c = queue_of(group, member)
      queue.settings(c)
      events.check(c)
      ready.check(c, 0)
      shapes.check_number(c, "counter")
      shapes.expect(c, keys.homes(c), "zset")
    end
  end
end

-- Check: in reverse order, where the next compensation will be written to.
function compensation.check_next(group)
  local index = group.is_reverse and call("LINDEX", group.key .. keys.group_tail.undo, -1)
  local member = index and record.member(group, tonumber(index))
  if member then
    compensation.check(group, { member })
  end
end

-- Whether a failed member is undone too.
function compensation.is_for_failed(group, mapping)
  local packed = mapping > 0 and call("HGET", group.key .. keys.group_tail.plan, "m" .. mapping)
  return packed and cmsgpack.unpack(packed)[4] == true or false
end

-- Adds the job that undoes the member, unless it is there.
local function enqueue(group, member)
  local plan = group.key .. keys.group_tail.plan
  local index = member.index
  local row = call("HMGET", plan, "h" .. index, "r" .. index, "m" .. member.mapping, "c" .. index)
  if not row[3] or row[4] == "waiting" then
    return
  end
  local mapping = cmsgpack.unpack(row[3])
  local c = queue_of(group, member)
  local id = job_id(group, index)
  call("HSET", plan, "c" .. index, "waiting")
  group.undoing = group.undoing + 1
  if jobs.is_taken(c, id) then
    return
  end
  adding.write(c, {
    job_id = id,
    name = mapping[1],
    data = row[1] .. (row[2] or "null") .. mapping[2],
    opts = mapping[3] .. index .. '"}',
    delay = "0",
    priority = "0",
  }, c.now_text, false, { jobs.field.group, record.tie("compensation", index, member.mapping, group.key) })
  record.look_after(c, group.home)
end

-- Check: compensations of an earlier group with the same id. Those that have settled would stand for the new ones and
-- have to go; the key of one that has not, which is still needed, is the second value.
function compensation.leftovers(group, members)
  local names, leftovers = {}, {}
  for i, member in ipairs(members) do
    if member.mapping > 0 then
      names[#names + 1] = keys.job(queue_of(group, member), job_id(group, i - 1))
    end
  end
  if #names == 0 or call("EXISTS", unpack(names)) == 0 then
    return leftovers
  end
  for i, member in ipairs(members) do
    local c, id = queue_of(group, member), job_id(group, i - 1)
    if member.mapping > 0 and jobs.is_taken(c, id) then
      shapes.check(c, unpack(shapes.places))
      queue.settings(c)
      events.check(c)
      local place = jobs.place(c, id)
      if place ~= "completed" and place ~= "failed" then
        return leftovers, keys.job(c, id)
      end
      leftovers[#leftovers + 1] = { c = c, id = id, place = place }
    end
  end
  return leftovers
end

-- Write: what an earlier group has left goes.
function compensation.clear(leftovers)
  for _, leftover in ipairs(leftovers) do
    local c = leftover.c
    call("ZREM", leftover.place == "completed" and c.completed or c.failed, leftover.id)
    jobs.erase(c, leftover.id)
    events.capped(c, "removed", "jobId", leftover.id, "prev", leftover.place)
  end
end

-- Notes that a member has to be undone should the group fail; its result is at hand then, whatever retention does.
function compensation.prepare(group, member, value)
  call("HSET", group.key .. keys.group_tail.plan, "r" .. member.index, value)
  if group.is_reverse then
    call("RPUSH", group.key .. keys.group_tail.undo, member.index)
  end
end

-- A member has to be undone now, or in its turn.
function compensation.undo(group, member)
  if not group.is_reverse then
    enqueue(group, member)
  end
end

-- Reverse order: the next compensation, once nothing runs any more. True if there was one.
function compensation.advance(group)
  if not group.is_reverse or group.undoing > 0 or record.unsettled(group) > 0 then
    return false
  end
  local index = call("RPOP", group.key .. keys.group_tail.undo)
  if not index then
    return false
  end
  enqueue(group, record.member(group, tonumber(index)))
  return true
end

-- Nobody will be there for the turns of those that are left: all of them are undone now.
function compensation.rush(group)
  local undo = group.key .. keys.group_tail.undo
  for _ = 1, group.is_reverse and call("LLEN", undo) or 0 do
    enqueue(group, record.member(group, tonumber(call("RPOP", undo))))
  end
end

-- A compensation that has failed, or whose job is lost, is tried once more.
function compensation.again(group, member)
  local c = queue_of(group, member)
  local id = job_id(group, member.index)
  if not jobs.place(c, id) then
    jobs.erase(c, id)
  end
  call("HDEL", group.key .. keys.group_tail.plan, "c" .. member.index)
  group.undo_failed = group.undo_failed - 1
  enqueue(group, member)
end

-- Takes a waiting job out of where it waits; that collection's suffix, or nil.
local function take_out(p, member, is_long)
  local id = member.id
  if member.lane then
    local from = lanes.take_out(p, member, is_long)
    if from then return from end
    -- This call may just have let it out.
    lanes.push_all(p)
  end
  if call("ZREM", p.delayed, id) == 1 then return "delayed" end
  if call("ZREM", p.prioritized, id) == 1 then return "prioritized" end
  if is_long then return nil end
  if call("LREM", p.wait, 1, id) == 1 then return "wait" end
  if call("LREM", p.paused, 1, id) == 1 then return "paused" end
  return nil
end

-- Nobody runs a marked job: any worker fails it unrun, ours and maintenance erase it.
local function mark(group, p, member)
  local id = member.id
  batch_ends.flush(p)
  local is_elsewhere = leases.is_held(p, id) or not jobs.exists(p, id) or call("LPOS", p.active, id)
    or call("ZSCORE", p.completed, id) or call("ZSCORE", p.failed, id)
  if is_elsewhere then
    return false
  end
  jobs.set(p, member.id, jobs.field.deferred_failure, "group " .. group.id .. " was cancelled")
  call("RPUSH", keys.groups_of(group.home, "marked"), p.root, member.id)
  return true
end

local function scan_ms(group, members)
  local entries = 0
  for _, member in ipairs(members) do
    if member.status == "pending" then
      local p = queue.other(group.home, member.root)
      local length = p.wait_length
      if not length then
        length = call("LLEN", p.wait)
        p.wait_length = length
      end
      entries = entries + length + (member.lane and lane_rest.line_length(p, member.lane) or 0)
    end
  end
  return entries * SCAN_MS_PER_ENTRY
end

-- Takes out every member that has not begun. One that has and lies in wait again was interrupted: what it did is
-- unknown, so it runs again and is undone when it completes. One that lies nowhere is running.
local function cancel_pending(group, members)
  local is_long = scan_ms(group, members) > MOST_SCAN_MS
  for _, member in ipairs(members) do
    if member.status == "pending" then
      local p = queue.other(group.home, member.root)
      local from = take_out(p, member, is_long)
      if from then
        jobs.erase(p, member.id)
        events.capped(p, "removed", "jobId", member.id, "prev", from)
        if member.lane then
          lanes.removed(p, member)
        end
      end
      if from or is_long and mark(group, p, member) then
        member.status = "cancelled"
        group.cancelled = group.cancelled + 1
        record.set_status(group, member.key, "cancelled")
      end
    end
  end
end

-- The group has failed: nothing more begins, and what has completed is undone.
function compensation.begin(group, members)
  cancel_pending(group, members)
  if not group.is_reverse then
    for _, member in ipairs(members) do
      local is_undone = member.status == "completed" or member.status == "failed" and compensation.is_for_failed(group, member.mapping)
      if is_undone and member.mapping > 0 then
        enqueue(group, member)
      end
    end
  end
end

-- Whether anything is left to be undone.
function compensation.is_pending(group)
  return group.undoing > 0 or group.is_reverse and call("LLEN", group.key .. keys.group_tail.undo) > 0
end

function compensation.state(group, index)
  return call("HGET", group.key .. keys.group_tail.plan, "c" .. index)
end

-- A compensation job has finished for good.
function compensation.settled(group, index, outcome, value)
  local plan = group.key .. keys.group_tail.plan
  call("HSET", plan, "c" .. index, outcome)
  group.undoing = group.undoing - 1
  if outcome == "failed" then
    call("HSET", plan, "v" .. index, value)
    group.undo_failed = group.undo_failed + 1
  else
    call("HDEL", plan, "v" .. index)
  end
end

-- A compensation that had failed runs again.
function compensation.reopened(group, index)
  call("HSET", group.key .. keys.group_tail.plan, "c" .. index, "waiting")
  group.undoing = group.undoing + 1
  group.undo_failed = group.undo_failed - 1
end

-- What became of each compensation, as JSON for the event.
function compensation.results(group)
  local texts = {}
  local plan = group.key .. keys.group_tail.plan
  for _, member in ipairs(record.members(group)) do
    if member.mapping > 0 then
      local row = call("HMGET", plan, "c" .. member.index, "v" .. member.index)
      if row[1] then
        local reason = row[2] and ',"failedReason":' .. cjson.encode(row[2]) or ""
        texts[#texts + 1] = '{"jobId":' .. cjson.encode(job_id(group, member.index)) .. ',"originalJobKey":'
          .. cjson.encode(member.key) .. ',"status":"' .. row[1] .. '"' .. reason .. "}"
      end
    end
  end
  return "[" .. table.concat(texts, ",") .. "]"
end

compensation.job_id = job_id
compensation.queue_of = queue_of

return compensation
