-- Take, prove, extend and drop a lease: the string `<job>:lock` that holds the worker's token.

local batch_ends = require("lib.batch_ends")
local keys = require("lib.keys")

local leases = {}

-- A token that neither locks nor is asked for one: for people who fetch by hand and want no lock.
local NO_LEASE = "0"
leases.none = NO_LEASE

-- Check: nil, or the word why this token may not touch the job.
function leases.refusal(q, id, token)
  if token == NO_LEASE then
    return nil
  end
  local holder = batch_ends.holder(q, id)
  if holder == token then
    return nil
  end
  return holder and "lease_lost" or "lease_missing"
end

function leases.is_held(q, id)
  if batch_ends.has_unlocked(q, id) then
    return false
  end
  return call("EXISTS", keys.lock(q, id)) == 1
end

-- `stalled` is usually empty; asking once per call saves a write per job.
local function has_suspects(q)
  local known = q.suspects
  if not known then
    known = call("SCARD", q.stalled)
    q.suspects = known
  end
  return known > 0
end

leases.look = has_suspects

-- None of these keys exists. Whether there are suspects is asked for along with them: mostly there is nothing at
-- all, and one question answers both.
function leases.is_plain(q, ...)
  if q.suspects then
    return call("EXISTS", ...) == 0
  end
  if call("EXISTS", q.stalled, ...) == 0 then
    q.suspects = 0
    return true
  end
  return call("EXISTS", ...) == 0
end

function leases.drop(q, id, token)
  if token == NO_LEASE then
    return
  end
  batch_ends.unlock(q, id)
  if has_suspects(q) then
    call("SREM", q.stalled, id)
  end
end

function leases.extend(q, id, token, ms)
  call("SET", keys.lock(q, id), token, "PX", ms)
  if has_suspects(q) then
    call("SREM", q.stalled, id)
  end
end

return leases
