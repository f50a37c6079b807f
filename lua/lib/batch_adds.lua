-- A call that adds many jobs numbers them at once, puts them into `wait` at once and trims the events once, behind the
-- last. Not opened, everything happens at once.

local batch_adds = {}

-- `count` is how many the call may add.
function batch_adds.open(q, count)
  if count > 1 then
    q.adding = { count = count, number = false, waiting = {}, is_capped = false }
  end
end

-- Write: the number of one more job.
function batch_adds.next_number(q)
  local adding = q.adding
  if not adding then
    return call("INCR", q.counter)
  end
  if not adding.number then
    adding.number = call("INCRBY", q.counter, adding.count) - adding.count
  end
  adding.number, adding.count = adding.number + 1, adding.count - 1
  return adding.number
end

-- Write: the job waits behind all others.
function batch_adds.push(q, id)
  local adding = q.adding
  if adding then
    adding.waiting[#adding.waiting + 1] = id
  else
    call("LPUSH", q.wait, id)
  end
end

-- Settle: numbers that a refused job did not use are given back.
function batch_adds.flush(q)
  local adding = q.adding
  if not adding then
    return
  end
  q.adding = false
  if #adding.waiting > 0 then
    call("LPUSH", q.wait, unpack(adding.waiting))
  end
  if adding.number and adding.count > 0 then
    call("DECRBY", q.counter, adding.count)
  end
  if adding.is_capped then
    call("XTRIM", q.events, "MAXLEN", "~", adding.is_capped)
  end
end

return batch_adds
