-- Looks after open groups: compares what a group knows with where its jobs really are, and applies the same
-- transitions as the workers do. What a stock worker finished, a sweep deleted or nobody waits for any longer is found
-- here.

local compensation = require("lib.compensation")
local events = require("lib.events")
local groups = require("lib.groups")
local jobs = require("lib.jobs")
local keys = require("lib.keys")
local queue = require("lib.queue")
local record = require("lib.group_record")
local shapes = require("lib.shapes")

local care = {}

-- What one tick may look at.
local MOST_HOMES, MOST_GROUPS, MOST_MEMBERS, MOST_MARKED = 20, 100, 2000, 100
-- How far back the end of a job that has no record any more is looked for.
local MOST_EVENTS = 3000

-- How the jobs of a queue ended, by what it has told of late; read once per call.
local function told_ends(p)
  local ends = p.told_ends
  if ends then
    return ends
  end
  ends = {}
  for _, entry in ipairs(call("XREVRANGE", p.events, "+", "-", "COUNT", MOST_EVENTS)) do
    local told = {}
    for i = 1, #entry[2], 2 do
      told[entry[2][i]] = entry[2][i + 1]
    end
    local id, event = told.jobId, told.event
    if id and ends[id] == nil then
      if event == "completed" or event == "failed" then
        ends[id] = { event, told.returnvalue or told.failedReason or "" }
      elseif event == "added" then
        -- What came before was another job of the same id.
        ends[id] = false
      end
    end
  end
  p.told_ends = ends
  return ends
end

-- How a job that should still be on its way has really ended: nil if it has not, else the outcome and its value.
local function real_end(p, id)
  local key = keys.job(p, id)
  if call("ZSCORE", p.completed, id) then
    return "completed", call("HGET", key, "returnvalue") or "null"
  end
  if call("ZSCORE", p.failed, id) then
    return "failed", call("HGET", key, "failedReason") or ""
  end
  if call("EXISTS", key) == 0 then
    -- A worker of another library may have finished it, and trimmed it with others before anybody looked.
    local told = told_ends(p)[id]
    if told then
      return told[1], told[2]
    end
    return "missing", ""
  end
  return nil
end

-- What the group does not know, in the order of its members.
function care.compare(group)
  local findings = {}
  local plan = group.key .. keys.group_tail.plan
  local members = record.members(group)
  for _, member in ipairs(members) do
    if not record.is_settled(member.status) then
      local outcome, value = real_end(queue.other(group.home, member.root), member.id)
      if outcome then
        findings[#findings + 1] = { kind = "member", member = member, outcome = outcome, value = value }
      end
    elseif member.mapping > 0 and call("HGET", plan, "c" .. member.index) == "waiting" then
      local c = compensation.queue_of(group, member)
      local outcome, value = real_end(c, compensation.job_id(group, member.index))
      if outcome then
        findings[#findings + 1] = { kind = "compensation", member = member, outcome = outcome, value = value }
      end
    end
  end
  return findings, members
end

local function apply(group, members, finding)
  local member, outcome = finding.member, finding.outcome
  if finding.kind == "compensation" then
    local is_done = outcome == "completed"
    groups.compensation_finished(group, member.index, compensation.state(group, member.index), is_done and "completed" or "failed",
      outcome == "missing" and "its job is missing" or finding.value)
  elseif outcome == "missing" then
    groups.member_lost(group, members, member, "member missing")
  else
    groups.member_finished(group, members, member, outcome, finding.value)
  end
end

-- Brings one group up to date; how many members it has.
local function heal(home, id, next_check)
  local group = record.load(home, id)
  if not group or not record.is_open(group.state) then
    call("ZREM", keys.groups_of(home, "open"), id)
    return 0
  end
  groups.check_cancel(group)
  local findings, members = care.compare(group)
  for _, finding in ipairs(findings) do
    apply(group, members, finding)
  end
  if group.state == "ACTIVE" and group.timeout_at and group.timeout_at <= home.now then
    groups.compensate(group, members, "", "timeout")
  end
  if record.is_open(group.state) then
    record.check_at(group, next_check)
  end
  return #members
end

-- Marked members that a stock worker failed, or that somebody erased, are forgotten.
local function sweep_marked(home)
  local set = keys.groups_of(home, "marked")
  for _ = 1, math.min(MOST_MARKED, call("LLEN", set) / 2) do
    local root, id = call("LPOP", set), call("LPOP", set)
    local p = queue.other(home, root)
    if jobs.exists(p, id) then
      if call("ZREM", p.failed, id) == 1 then
        jobs.erase(p, id)
        events.capped(p, "removed", "jobId", id, "prev", "failed")
      else
        call("RPUSH", set, root, id)
      end
    end
  end
end

-- The list of groups may have been swept away by another library; what else the home keeps says which there are.
local function restore_list(home)
  if call("EXISTS", keys.groups(home)) == 1 then
    return
  end
  for _, word in ipairs({ "open", "COMPLETED", "FAILED", "FAILED_COMPENSATION" }) do
    for _, id in ipairs(call("ZRANGE", keys.groups_of(home, word), 0, MOST_MEMBERS - 1)) do
      local created = call("HGET", keys.group(home, id), "createdAt")
      if created then
        call("ZADD", keys.groups(home), created, id)
      end
    end
  end
end

local function care_for_home(home, interval_ms)
  local open = keys.groups_of(home, "open")
  restore_list(home)
  local looked_at = 0
  for _, id in ipairs(call("ZRANGEBYSCORE", open, "-inf", home.now_text, "LIMIT", 0, MOST_GROUPS)) do
    -- Each on its own: one that cannot be read must not keep the others from being looked after.
    local is_done, count = pcall(heal, home, id, home.now + interval_ms)
    if not is_done then
      call("ZADD", open, string.format("%.0f", home.now + interval_ms), id)
    end
    looked_at = looked_at + (is_done and count or 1)
    if looked_at >= MOST_MEMBERS then
      break
    end
  end
  sweep_marked(home)
end

-- Check: the keys that a tick reads.
function care.check(q)
  shapes.expect(q, keys.homes(q), "zset")
end

-- One tick for all homes that have members here, once per interval whoever calls (half of it, so that a call that
-- comes a moment early is not sent away). A home without open groups needs no looking after.
function care.tick(q, interval_ms)
  local homes = keys.homes(q)
  local due = string.format("%.0f", q.now - interval_ms / 2)
  for _, root in ipairs(call("ZRANGEBYSCORE", homes, "-inf", due, "LIMIT", 0, MOST_HOMES)) do
    local home = queue.other(q, root)
    pcall(care_for_home, home, interval_ms)
    if call("EXISTS", keys.groups_of(home, "open"), keys.groups_of(home, "marked")) == 0 then
      call("ZREM", homes, root)
    else
      call("ZADD", homes, q.now_text, root)
    end
  end
end

return care
