-- What a call does to many jobs it asks for once and writes once: a command costs more than what it does to one job.
-- Three parts, each opened on its own and flushed before anybody looks: jobs that finish (`look`), jobs that a fetch
-- takes (`open_moves`), jobs that are added or come due (`open_adds`). Not opened, everything happens at once.

local keys = require("lib.keys")

local pending = {}

local LOCK, DEPENDENCIES, UNSUCCESSFUL = keys.tail.lock, keys.tail.dependencies, keys.tail.unsuccessful

-- The jobs are mostly those that have been active the longest.
local function look_at_many(q, ids)
  local count = #ids
  local records, locks, related = {}, {}, { q.stalled }
  for i = 1, count do
    local key = keys.job(q, ids[i])
    records[i], locks[i] = key, key .. LOCK
    related[2 * i], related[2 * i + 1] = key .. DEPENDENCIES, key .. UNSUCCESSFUL
  end
  local first_active = call("LRANGE", q.active, -count, -1)
  local holders = call("MGET", unpack(locks))
  q.is_plain = call("EXISTS", unpack(related)) == 0 and call("EXISTS", unpack(records)) == count
  q.suspects = q.is_plain and 0
  local holder_of, lock_of, oldest = {}, {}, {}
  for i = 1, count do
    local id = ids[i]
    holder_of[id], lock_of[id] = holders[i], locks[i]
  end
  for i = 1, #first_active do
    oldest[first_active[i]] = true
  end
  q.pending = {
    holder_of = holder_of, lock_of = lock_of, oldest = oldest, oldest_count = #first_active,
    left = {}, unlocked = {}, finished = {},
  }
end

-- Reads of the whole batch, before its first item. Mostly all jobs are there, none has children and none is suspected
-- of having stalled: then `q.is_plain` answers that for all.
function pending.look(q, ids)
  if #ids == 1 then
    -- The record counts four times, so that the sum says which of the four keys there are.
    local key = keys.job(q, ids[1])
    q.is_plain = call("EXISTS", key, key, key, key, q.stalled, key .. DEPENDENCIES, key .. UNSUCCESSFUL) == 4
    q.suspects = q.is_plain and 0
  elseif #ids > 1 then
    look_at_many(q, ids)
  end
end

-- Check: who holds the job's lease; nil or false for nobody.
function pending.holder(q, id)
  local batch = q.pending
  if batch and batch.lock_of[id] then
    return batch.holder_of[id]
  end
  return call("GET", keys.lock(q, id))
end

-- Write: false where the job was not active, or has left in this call.
function pending.leave_active(q, id)
  local batch = q.pending
  local is_here = batch and batch.oldest[id]
  if is_here then
    batch.oldest[id] = false
    batch.left[#batch.left + 1] = id
    return true
  end
  if batch and is_here == false then
    return false
  end
  return call("LREM", q.active, "-1", id) > 0
end

function pending.unlock(q, id)
  local batch = q.pending
  local lock = batch and batch.lock_of[id]
  if not lock then
    call("DEL", keys.lock(q, id))
    return
  end
  batch.holder_of[id] = false
  batch.unlocked[#batch.unlocked + 1] = lock
end

-- Write: the job lies among the finished ones, as of now.
function pending.finish(q, set, id)
  local batch = q.pending
  if not batch then
    call("ZADD", set, q.now_text, id)
    return
  end
  local entries = batch.finished[set]
  if not entries then
    entries = {}
    batch.finished[set] = entries
  end
  local count = #entries
  entries[count + 1], entries[count + 2] = q.now_text, id
end

-- Settle: writes what is left to write. Whoever looks into these collections within the call comes here first.
function pending.flush(q)
  local batch = q.pending
  if not batch then
    return
  end
  q.pending = false
  local left = batch.left
  if #left == batch.oldest_count and #left > 0 then
    call("LTRIM", q.active, "0", -#left - 1)
  else
    for i = 1, #left do
      call("LREM", q.active, "-1", left[i])
    end
  end
  if #batch.unlocked > 0 then
    call("DEL", unpack(batch.unlocked))
  end
  for set, entries in pairs(batch.finished) do
    call("ZADD", set, unpack(entries))
  end
end

-- Jobs that a fetch has looked at leave the ready order, and those that it claims become active, all at once. What
-- lies in `wait` is taken from its end, one after the other.
function pending.open_moves(q)
  q.moves = { waiting = 0, prioritized = {}, claimed = {} }
end

-- Write: the job is not ready any more.
function pending.drop(q, from, id)
  local moves = q.moves
  if from ~= "wait" then
    if moves then
      moves.prioritized[#moves.prioritized + 1] = id
    else
      call("ZREM", q.prioritized, id)
    end
  elseif moves then
    moves.waiting = moves.waiting + 1
  else
    call("RPOP", q.wait)
  end
end

-- Write: the job is active. Alone, its move from `wait` is one write, which fails whole.
function pending.claim(q, from, id)
  local moves = q.moves
  if moves then
    moves.claimed[#moves.claimed + 1] = id
    pending.drop(q, from, id)
  elseif from == "wait" then
    call("LMOVE", q.wait, q.active, "RIGHT", "LEFT")
  else
    call("ZREM", q.prioritized, id)
    call("LPUSH", q.active, id)
  end
end

-- Settle: they are where they belong, before anything else is put into `wait`.
function pending.flush_moves(q)
  local moves = q.moves
  if not moves then
    return
  end
  q.moves = false
  if #moves.claimed > 0 then
    call("LPUSH", q.active, unpack(moves.claimed))
  end
  if moves.waiting > 0 then
    call("LTRIM", q.wait, "0", -moves.waiting - 1)
  end
  if #moves.prioritized > 0 then
    call("ZREM", q.prioritized, unpack(moves.prioritized))
  end
end

-- A call that adds many jobs numbers them at once, puts them into `wait` at once and trims the events once, behind
-- the last. `count` is how many it may add.
function pending.open_adds(q, count)
  if count > 1 then
    q.adds = { count = count, number = false, waiting = {}, is_capped = false }
  end
end

-- Write: the number of one more job.
function pending.next_number(q)
  local adds = q.adds
  if not adds then
    return call("INCR", q.counter)
  end
  if not adds.number then
    adds.number = call("INCRBY", q.counter, adds.count) - adds.count
  end
  adds.number, adds.count = adds.number + 1, adds.count - 1
  return adds.number
end

-- Write: the job waits behind all others.
function pending.push(q, id)
  local adds = q.adds
  if adds then
    adds.waiting[#adds.waiting + 1] = id
  else
    call("LPUSH", q.wait, id)
  end
end

-- Settle: numbers that a refused job did not use are given back.
function pending.flush_adds(q)
  local adds = q.adds
  if not adds then
    return
  end
  q.adds = false
  if #adds.waiting > 0 then
    call("LPUSH", q.wait, unpack(adds.waiting))
  end
  if adds.number and adds.count > 0 then
    call("DECRBY", q.counter, adds.count)
  end
  if adds.is_capped then
    call("XTRIM", q.events, "MAXLEN", "~", adds.is_capped)
  end
end

return pending
