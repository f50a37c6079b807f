-- Jobs that end in one call are asked for once and written once: a command costs more than what it does to one job.
-- `look` reads for all of them before the first, `flush` writes behind the last; a call of one job does all at once.
--
-- The lists are kept from call to call: to fill them costs less than to make them. Only their first entries, as many
-- as are counted, belong to this call.

local clock = require("lib.clock")
local keys = require("lib.keys")

local batch_ends = {}

local LOCK, DEPENDENCIES = keys.tail.lock, keys.tail.dependencies

-- By the number of the item: its job's keys. What else has to be missing for all of them to be plain.
local records, locks, related = {}, {}, {}
-- What is to be written: who leaves `active`, which locks are deleted, and where they lie now (score, id …).
local left, unlocked = {}, {}
local entries_of = { completed = {}, failed = {} }

local function is_each_once(ids, count)
  local seen = {}
  for i = 1, count do
    if seen[ids[i]] then
      return false
    end
    seen[ids[i]] = true
  end
  return true
end

-- Whether the jobs are, one after the other, those that have been active the longest, as they mostly are; each once, as
-- they are for sure where they are numbers that rise.
local function are_in_order(ids, count, active)
  if #active ~= count then
    return false
  end
  local before, rises = "", true
  for i = 1, count do
    local id = ids[i]
    if active[count + 1 - i] ~= id then
      return false
    end
    rises = rises and (#id > #before or #id == #before and id > before)
    before = id
  end
  return rises or is_each_once(ids, count)
end

-- Whether none of `related` is there, up to that with this number. A queue that had no delayed jobs is mostly asked for
-- them with the same command.
local function is_none_there(q, count)
  if not q.expects_delays then
    related[count + 1] = q.delayed
    if call("EXISTS", unpack(related, 1, count + 1)) == 0 then
      q.has_no_delays = true
      return true
    end
  end
  return call("EXISTS", unpack(related, 1, count)) == 0
end

local function look_at_many(q, ids, count)
  related[1] = q.stalled
  local prefix = keys.job(q, "")
  for i = 1, count do
    local key = prefix .. ids[i]
    records[i], locks[i] = key, key .. LOCK
    related[i + 1] = key .. DEPENDENCIES
  end
  local active = call("LRANGE", q.active, clock.text(-count), "-1")
  local holders = call("MGET", unpack(locks, 1, count))
  q.is_plain = is_none_there(q, count + 1)
  q.suspects = q.is_plain and 0
  q.ending = {
    ids = ids, count = count, holders = holders, is_in_order = are_in_order(ids, count, active),
    -- Who is active, as far as was read, and the same as a set, made when it is asked for.
    active = active, oldest = false, numbers = false,
    left = 0, unlocked = 0, completed = 0, failed = 0,
    -- The last items that went the short way, from one number to the other: they have left, are unlocked and completed.
    plain_from = 1, plain_to = 0,
  }
end

-- Check, of the whole batch: its jobs in the order of the items. Mostly none waits for children and none is suspected of
-- having stalled: then `q.is_plain` answers that for all.
function batch_ends.look(q, ids, count)
  if count == 1 then
    local key = keys.job(q, ids[1])
    records[1], locks[1] = key, key .. LOCK
    related[1], related[2] = q.stalled, key .. DEPENDENCIES
    q.is_plain = is_none_there(q, 2)
    q.suspects = q.is_plain and 0
    q.ends_one = true
  elseif count > 1 then
    look_at_many(q, ids, count)
  end
end

-- The number of the job's item; nil for a job that is not in this batch.
local function number_of(ending, id)
  local numbers = ending.numbers
  if not numbers then
    numbers = {}
    for i = ending.count, 1, -1 do
      numbers[ending.ids[i]] = i
    end
    ending.numbers = numbers
  end
  return numbers[id]
end

-- Check: who holds the job's lease; nil or false for nobody.
function batch_ends.holder(q, id)
  local ending = q.ending
  local at = ending and number_of(ending, id)
  if at then
    return ending.holders[at]
  end
  return call("GET", keys.lock(q, id))
end

-- Whether this call has read, or seen to it, that nobody holds the job.
function batch_ends.has_unlocked(q, id)
  local ending = q.ending
  local at = ending and number_of(ending, id)
  return at and ending.holders[at] == false or false
end

-- Who is active, as far as was read; false where one has left.
local function oldest_of(ending)
  local oldest = ending.oldest
  if not oldest then
    oldest = {}
    for i = 1, #ending.active do
      oldest[ending.active[i]] = true
    end
    for i = 1, ending.left do
      oldest[left[i]] = false
    end
    for number = ending.plain_from, ending.plain_to do
      oldest[ending.ids[number]] = false
    end
    ending.oldest = oldest
  end
  return oldest
end

local function note_left(ending, id)
  local count = ending.left + 1
  left[count], ending.left = id, count
  if ending.oldest then
    ending.oldest[id] = false
  end
end

local function note_unlocked(ending, at)
  local count = ending.unlocked + 1
  unlocked[count], ending.unlocked = locks[at], count
  ending.holders[at] = false
end

local function note_finished(q, ending, target, id)
  local entries, count = entries_of[target], ending[target]
  entries[count + 1], entries[count + 2] = q.now_text, id
  ending[target] = count + 2
end

-- Write: false where the job was not active, or has left in this call.
function batch_ends.leave_active(q, id)
  local ending = q.ending
  local is_here = ending and oldest_of(ending)[id]
  if is_here then
    note_left(ending, id)
    return true
  end
  if ending and is_here == false then
    return false
  end
  return call("LREM", q.active, "-1", id) > 0
end

-- Write: nobody holds it any more.
function batch_ends.unlock(q, id)
  local ending = q.ending
  local at = ending and number_of(ending, id)
  if at then
    note_unlocked(ending, at)
  else
    call("DEL", keys.lock(q, id))
  end
end

-- Write: the job lies among the `completed` or `failed` ones, as of now.
function batch_ends.finish(q, target, id)
  local ending = q.ending
  if ending then
    note_finished(q, ending, target, id)
  else
    call("ZADD", q[target], q.now_text, id)
  end
end

-- Check: how many of `count` items, from the one with this number on, stand for plain jobs that this token may end,
-- without looking them up. A record with as many fields as its worker saw is there and has been given nothing since:
-- what another may give to a running job, a parent first of all, is a field more, and so is the failure of a child.
function batch_ends.count_plain(q, first, count, token, field_count)
  local ending = q.ending
  if not ending then
    local is_plain = q.ends_one and call("GET", locks[1]) == token and call("HLEN", records[1]) == field_count
    return is_plain and 1 or 0
  end
  if not ending.is_in_order then
    return 0
  end
  local holders = ending.holders
  for number = first, first + count - 1 do
    if holders[number] ~= token or call("HLEN", records[number]) ~= field_count then
      return number - first
    end
  end
  return count
end

-- Those of the range are noted one by one, so that another may begin.
local function spread_range(q, ending)
  for number = ending.plain_from, ending.plain_to do
    local id = ending.ids[number]
    note_left(ending, id)
    note_unlocked(ending, number)
    note_finished(q, ending, "completed", id)
  end
end

-- Write: the jobs from this number to that leave `active`, lose their leases, lie among the `completed`.
function batch_ends.complete_run(q, first, last)
  local ending = q.ending
  if ending.plain_to ~= first - 1 then
    spread_range(q, ending)
    ending.plain_from = first
  end
  ending.plain_to = last
  local holders, oldest = ending.holders, ending.oldest
  for number = first, last do
    holders[number] = false
    if oldest then
      oldest[ending.ids[number]] = false
    end
  end
end

-- The same of the only job of a call. False where it was not active, and then it lies nowhere that it did not lie before.
-- Nobody has looked what the keys hold: the first write finds out, and is undone where the second does.
function batch_ends.complete_one(q, id)
  local is_new = call("ZADD", q.completed, q.now_text, id) == 1
  local is_fine, has_left = pcall(batch_ends.leave_active, q, id)
  if is_fine and has_left then
    call("DEL", locks[1])
    return true
  end
  if is_new then
    call("ZREM", q.completed, id)
  end
  if not is_fine then
    error(has_left, 0)
  end
  return false
end

-- Their keys, by the number of the item.
batch_ends.records = records

-- Settle: writes what is left to write. Whoever looks into these collections within the call comes here first.
function batch_ends.flush(q)
  local ending = q.ending
  if not ending then
    return
  end
  q.ending = false
  local ids, from, to = ending.ids, ending.plain_from, ending.plain_to
  local count = ending.left + to - from + 1
  if count > 0 and count == #ending.active then
    call("LTRIM", q.active, "0", clock.text(-count - 1))
  else
    for i = 1, ending.left do
      call("LREM", q.active, "-1", left[i])
    end
    for number = from, to do
      call("LREM", q.active, "-1", ids[number])
    end
  end
  if to >= from then
    call("DEL", unpack(locks, from, to))
    local entries, completed, now = entries_of.completed, ending.completed, q.now_text
    for number = from, to do
      entries[completed + 1], entries[completed + 2] = now, ids[number]
      completed = completed + 2
    end
    ending.completed = completed
  end
  if ending.unlocked > 0 then
    call("DEL", unpack(unlocked, 1, ending.unlocked))
  end
  if ending.completed > 0 then
    call("ZADD", q.completed, unpack(entries_of.completed, 1, ending.completed))
  end
  if ending.failed > 0 then
    call("ZADD", q.failed, unpack(entries_of.failed, 1, ending.failed))
  end
end

return batch_ends
