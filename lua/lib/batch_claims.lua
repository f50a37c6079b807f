-- Jobs that a fetch has looked at leave the ready order, and those that it claims become active, all at once. What lies
-- in `wait` is taken from its end, one after the other, and what lies in `prioritized` from its beginning. Not opened,
-- everything happens at once.

local clock = require("lib.clock")

local batch_claims = {}

-- Kept from call to call: to fill them costs less than to make them. Only as many as are counted belong to this call.
local claimed = {}

function batch_claims.open(q)
  q.claiming = { waiting = 0, prioritized = 0, claimed = 0 }
end

-- Write: the job is not ready any more.
function batch_claims.drop(q, from, id)
  local claiming = q.claiming
  if from == "wait" then
    if claiming then
      claiming.waiting = claiming.waiting + 1
    else
      call("RPOP", q.wait)
    end
  elseif from == "lane" then
    q.shown_count = q.shown_count + 1
  elseif claiming then
    claiming.prioritized = claiming.prioritized + 1
  else
    call("ZREM", q.prioritized, id)
  end
end

-- Where those are put down that become active, behind as many as are counted.
batch_claims.claimed = claimed

function batch_claims.count(q)
  return q.claiming and q.claiming.claimed or 0
end

-- Write: the jobs of `arg` (see transitions/claim.lua) from the first number to the last are not ready any more, and
-- `active` more of those that were put down become active.
function batch_claims.claim(q, arg, first, last, active)
  local claiming, from = q.claiming, arg.from
  if from == "lane" then
    q.shown_count = q.shown_count + last - first + 1
  elseif from == "wait" and claiming then
    claiming.waiting = claiming.waiting + last - first + 1
  elseif claiming then
    claiming.prioritized = claiming.prioritized + last - first + 1
  elseif not arg.is_taken then
    for number = first, last do
      batch_claims.drop(q, from, arg.job_ids[arg.at + (number - 1) * arg.step])
    end
  end
  if claiming then
    claiming.claimed = claiming.claimed + active
  elseif not arg.is_taken and active > 0 then
    call("LPUSH", q.active, unpack(claimed, 1, active))
  end
end

-- Whether this fetch has claimed the job and not yet put it where it belongs.
function batch_claims.has_claimed(q, id)
  for i = 1, q.claiming and q.claiming.claimed or 0 do
    if claimed[i] == id then
      return true
    end
  end
  return false
end

-- Settle: they are where they belong, before anything else is put into the ready order. What a fetch does after that
-- happens at once.
function batch_claims.flush(q)
  local claiming = q.claiming
  if not claiming then
    return
  end
  q.claiming = false
  if claiming.claimed > 0 then
    call("LPUSH", q.active, unpack(claimed, 1, claiming.claimed))
  end
  if claiming.waiting > 0 then
    call("LTRIM", q.wait, "0", clock.text(-claiming.waiting - 1))
  end
  if claiming.prioritized > 0 then
    -- A fetch reads them from the first on, leaves none out, and comes here before it lets others in.
    call("ZREMRANGEBYRANK", q.prioritized, "0", clock.text(claiming.prioritized - 1))
  end
end

return batch_claims
