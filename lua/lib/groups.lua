-- Transactional groups. A member's finish and the group's bookkeeping are one transition, so there is no moment at
-- which a job has finished and its group does not know.

local compensation = require("lib.compensation")
local events = require("lib.events")
local keys = require("lib.keys")
local queue = require("lib.queue")
local record = require("lib.group_record")
local shapes = require("lib.shapes")

local groups = {}

-- What one terminal group may take along of its older peers.
local MOST_TRIMMED = "10"

-- Terminal groups beyond what the home wants to keep go, oldest first, a few at a time.
local function trim(home, state)
  local keep = queue.settings(home).keep_groups
  if not keep then
    return
  end
  local count, age = string.match(keep, "^(%d*):(%d*)$")
  local set = keys.groups_of(home, state)
  local ids = {}
  if age and age ~= "" then
    ids = call("ZRANGEBYSCORE", set, "-inf", string.format("%.0f", home.now - tonumber(age)), "LIMIT", "0", MOST_TRIMMED)
  end
  if #ids == 0 and count and count ~= "" then
    ids = call("ZREVRANGE", set, count, tonumber(count) + tonumber(MOST_TRIMMED) - 1)
  end
  for _, id in ipairs(ids) do
    record.erase(home, id, state)
  end
end

local function tell(group, name, ...)
  events.capped(group.home, name, "groupId", group.id, "groupName", group.name, ...)
end

local function end_as(group, state)
  record.save(group, state)
  tell(group, "group:failed", "state", state, "compensationResults", compensation.results(group))
  trim(group.home, state)
end

-- The group ends when no member runs any more and nothing is left to be undone.
local function settle(group)
  if group.state == "FAILED_COMPENSATION" then
    local is_recovered = group.undoing == 0 and group.undo_failed == 0
    if not is_recovered then
      record.save(group)
      return
    end
    record.save(group, "FAILED")
    tell(group, "group:recovered")
    return
  end
  if group.state ~= "COMPENSATING" or record.unsettled(group) > 0 or group.undoing > 0 or compensation.advance(group) then
    record.save(group)
    return
  end
  if group.undo_failed > 0 then
    end_as(group, "FAILED_COMPENSATION")
  else
    end_as(group, "FAILED")
  end
end

local function compensate(group, members, failed_job_id, reason)
  compensation.begin(group, members)
  call("HSET", group.key, "failedJobId", failed_job_id, "reason", reason)
  if record.unsettled(group) == 0 and not compensation.is_pending(group) then
    end_as(group, "FAILED")
    return
  end
  record.save(group, "COMPENSATING")
  tell(group, "group:compensating", "failedJobId", failed_job_id, "reason", reason)
  if compensation.advance(group) then
    record.save(group)
  end
end

-- A job in its group, and its group as it is now.
local function membership_of(q, job, group, index, mapping, status)
  return { group = group, is_member = true, status = status, members = false,
    index = index, mapping = mapping, key = job.key, root = q.root, id = job.id }
end

local function as_member(membership)
  return membership.members and membership.members[membership.index + 1] or membership
end

-- The usual case, so it asks for no more than it writes: a member of an ACTIVE group completes. False for all others.
local function check_completed(q, job)
  local group, index, mapping = record.load_active(job.group)
  local status = group and record.status(group, job.key)
  if not status or record.is_settled(status) then
    return false
  end
  record.check_count(q, group, mapping)
  job.membership = membership_of(q, job, group, index, mapping, status)
  return true
end

-- Check: the job's group as it is now, kept with the job for the settle; nil where the group is gone. `outcome` is
-- what is about to happen to the job.
function groups.check(q, job, outcome)
  job.membership = nil
  if outcome == "completed" and check_completed(q, job) then
    return
  end
  local tie = record.untie(q, job.group)
  local group = tie and record.load(tie.home, tie.group_id)
  if not group then
    return
  end
  local membership = membership_of(q, job, group, tie.index, tie.mapping)
  membership.is_member = tie.role == "member"
  if membership.is_member then
    membership.status = record.status(group, job.key)
    if not membership.status then
      -- Of an earlier group that had the same id: this one does not know it.
      return
    end
  end
  job.membership = membership
  record.check(group)
  events.check(group.home)
  if not membership.is_member then
    membership.status = compensation.state(group, tie.index)
  elseif group.state ~= "ACTIVE" then
    -- The others have had their turn: this one alone is undone, or the next in order.
    compensation.check(group, { membership })
  elseif outcome and not record.is_settled(membership.status) then
    membership.members = record.members(group)
    compensation.check(group, membership.members)
    return
  end
  compensation.check_next(group)
end

local function member_completed(group, member, value)
  group.completed = group.completed + 1
  if member.mapping > 0 then
    compensation.prepare(group, member, value)
  end
  if group.state ~= "ACTIVE" then
    if member.mapping > 0 then
      compensation.undo(group, member)
    end
    settle(group)
  elseif group.completed == group.total then
    record.complete(group)
    tell(group, "group:completed")
    trim(group.home, "COMPLETED")
  else
    call("HINCRBY", group.key, "completedCount", "1")
  end
end

local function member_failed(group, members, member, reason)
  group.failed = group.failed + 1
  local is_undone = compensation.is_for_failed(group, member.mapping)
  if is_undone then
    compensation.prepare(group, member, "null")
  end
  if group.state == "ACTIVE" then
    compensate(group, members, member.id, reason)
    return
  end
  if is_undone then
    compensation.undo(group, member)
  end
  settle(group)
end

-- A member has finished for good, as far as the group did not know.
local function member_finished(group, members, member, outcome, value)
  if member.status == "cancelled" and outcome == "completed" then
    -- A mark came too late: it has run after all.
    group.cancelled = group.cancelled - 1
  elseif record.is_settled(member.status) then
    return
  end
  member.status = outcome
  record.set_status(group, member.key, outcome)
  if outcome == "completed" then
    member_completed(group, member, value)
  else
    member_failed(group, members, member, value)
  end
end

-- A member is gone without having finished.
local function member_lost(group, members, member, reason)
  if record.is_settled(member.status) then
    return
  end
  member.status = "cancelled"
  record.set_status(group, member.key, "cancelled")
  group.cancelled = group.cancelled + 1
  if group.state == "ACTIVE" then
    compensate(group, members, "", reason)
  else
    settle(group)
  end
end

local function compensation_finished(group, index, status, outcome, value)
  -- One that had failed may have been put back by another library's retry.
  if status == "failed" then
    compensation.reopened(group, index)
  end
  if status == "waiting" or status == "failed" then
    compensation.settled(group, index, outcome, value)
    settle(group)
  end
end

-- Settle: the job finished for good.
function groups.finished(_, job, outcome, value)
  local membership = job.membership
  if not membership then
    return
  end
  if membership.is_member then
    member_finished(membership.group, membership.members, as_member(membership), outcome, value)
  else
    compensation_finished(membership.group, membership.index, membership.status, outcome, value)
  end
end

-- Settle: the job is taken out for good. A stock worker may have finished it without telling the group.
function groups.removed(q, job)
  local membership = job.membership
  if not membership then
    return
  end
  local row = call("HMGET", job.key, "finishedOn", "returnvalue", "failedReason")
  local outcome = row[1] and (row[2] and "completed" or "failed")
  if outcome then
    groups.finished(q, job, outcome, row[2] or row[3] or "")
  elseif membership.is_member then
    member_lost(membership.group, membership.members, as_member(membership), "member removed")
  else
    compensation_finished(membership.group, membership.index, membership.status, "failed", "removed before it ran")
  end
end

-- Settle: a finished job is about to be erased by retention. It may be one that a stock worker finished.
function groups.expired(q, job)
  if job.membership then
    return
  end
  local tie = record.untie(q, job.group)
  local status = tie and tie.role == "member" and call("HGET", keys.group(tie.home, tie.group_id) .. keys.group_tail.jobs, job.key)
  if not record.is_settled(status) and pcall(groups.check, q, job, "removed") then
    groups.removed(q, job)
  end
end

-- Check: why this job may not be removed by hand, or nil.
function groups.removal_refusal(job)
  local membership = job.membership
  if not membership then
    return nil
  end
  if membership.is_member then
    return not record.is_settled(membership.status) and "group_member" or nil
  end
  return membership.status == "waiting" and "compensation" or nil
end

-- Check: why this job may not run again, or nil. A member's outcome stands; a failed compensation may be tried again.
function groups.retry_refusal(job)
  local membership = job.membership
  if not membership then
    return nil
  end
  if membership.is_member then
    return "group_member"
  end
  return membership.status ~= "failed" and "compensation" or nil
end

-- Settle: a failed compensation goes back to run again.
function groups.reprocessed(_, job)
  local membership = job.membership
  if membership and not membership.is_member and membership.status == "failed" then
    compensation.reopened(membership.group, membership.index)
    record.save(membership.group)
  end
end

-- Check: a member whose attempt failed, or who steps aside: true if its group is being undone, and then this is its
-- end.
function groups.is_ending(q, job)
  local tie = record.untie(q, job.group)
  local group = tie and tie.role == "member" and record.load(tie.home, tie.group_id)
  if not group then
    return false
  end
  if not record.status(group, job.key) then
    return false
  end
  job.waits_in = group.state == "ACTIVE" and group or nil
  return group.state ~= "ACTIVE"
end

-- Settle: a member waits again.
function groups.waits(job)
  if job.waits_in then
    record.set_status(job.waits_in, job.key, "pending")
  end
end

-- Check: the status of a fetched member, and where it is kept; nil for a job that is none, or whose group is gone.
function groups.gate(q, id, text)
  local statuses = record.statuses_of(text)
  if not statuses then
    return nil
  end
  local is_read, status = pcall(call, "HGET", statuses, keys.job(q, id))
  if is_read then
    return status or nil, statuses
  end
  -- A poisoned group costs itself, never the queue.
  if not shapes.is_wrong_type(status) then
    error(status, 0)
  end
  return nil
end

-- Check: all that cancelling needs. The group must be ACTIVE.
function groups.check_cancel(group)
  record.check(group)
  events.check(group.home)
  local members = record.members(group)
  compensation.check(group, members)
  return members
end

groups.compensate = compensate
groups.member_finished = member_finished
groups.member_lost = member_lost
groups.compensation_finished = compensation_finished

return groups
