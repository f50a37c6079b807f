-- The only place that spells a key. A queue's root is `<prefix>:<name>`; every other key is the root, a
-- colon and one of the words below, or a job's id with one of the tails.

local keys = {}

-- Name in our code -> suffix on the wire. TypeScript's table is generated from this one.
keys.suffix = {
  active = "active",
  completed = "completed",
  counter = "id",
  dedup_holder = "de",
  dedup_next = "dn",
  delayed = "delayed",
  events = "events",
  failed = "failed",
  lane_delayed = "meta:lane-delayed",
  lane_held = "meta:lane-held",
  lane_out = "meta:lane-out",
  lane_settings = "meta:lane-settings",
  lane_waiting = "de",
  lanes = "meta:lanes",
  limiter = "limiter",
  marker = "marker",
  meta = "meta",
  metrics = "metrics",
  paused = "paused",
  prioritized = "prioritized",
  priority_counter = "pc",
  schedules = "repeat",
  stalled = "stalled",
  stalled_check = "stalled-check",
  wait = "wait",
  waiting_children = "waiting-children",
}

-- Tails of a job's own keys. `lock` is apart: deleting a job leaves its lock to expire, as BullMQ does.
keys.tail = {
  dependencies = ":dependencies",
  failed = ":failed",
  lock = ":lock",
  logs = ":logs",
  processed = ":processed",
  unsuccessful = ":unsuccessful",
}

-- Suffixes that obliterate deletes by name, beside the collections it empties.
keys.obsolete = { "delay", "priority" }

-- A key of the queue itself.
function keys.of_queue(root, suffix)
  return root .. ":" .. suffix
end

function keys.job(q, id)
  return q.root .. ":" .. id
end

function keys.lock(q, id)
  return q.root .. ":" .. id .. ":lock"
end

function keys.of_job(q, id, tail)
  return q.root .. ":" .. id .. keys.tail[tail]
end

function keys.dedup_holder(q, dedup_id)
  return q.root .. ":de:" .. dedup_id
end

function keys.dedup_next(q, dedup_id)
  return q.root .. ":dn:" .. dedup_id
end

-- The jobs that rest in one lane, in a line and by their place. Its name may be any text, so it comes last.
function keys.line(q, name)
  return q.root .. ":meta:line:" .. name
end

function keys.lane(q, name)
  return q.root .. ":meta:lane:" .. name
end

function keys.schedule(q, schedule_id)
  return q.root .. ":repeat:" .. schedule_id
end

function keys.metrics(q, target)
  return q.root .. ":metrics:" .. target
end

-- The groups at home in this queue, by the time of their creation.
function keys.groups(q)
  return q.root .. ":groups"
end

-- A group's record; what else it has hangs on this key by a tail.
function keys.group(q, group_id)
  return q.root .. ":groups:" .. group_id
end

keys.group_tail = {
  jobs = ":jobs",
  plan = ":plan",
  undo = ":undo",
}

-- The groups at home in this queue that are in one state, or `open`, or have `marked` members.
function keys.groups_of(q, word)
  return q.root .. ":meta:groups:" .. word
end

-- The queues whose open groups have members here.
function keys.homes(q)
  return q.root .. ":meta:homes"
end

-- Where the compensations of this queue's jobs run.
function keys.compensation_root(root)
  return root .. ":compensation"
end

-- What a client's resent call is recognised by (see the prologue that the build writes).
function keys.replay(root, client)
  return root .. ":meta:replay:" .. client
end

-- A job's full key, taken apart at the last colon: the only way BullMQ's own data can be read.
function keys.split_job(job_key)
  local root, id = string.match(job_key, "^(.*):([^:]*)$")
  return root, id
end

return keys
