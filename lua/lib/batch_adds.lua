-- A call that adds jobs numbers them at once, puts them into `wait` at once and trims the events once, behind the last.
-- Not opened, everything happens at once.

local clock = require("lib.clock")
local events = require("lib.events")

local batch_adds = {}

-- `count` is how many the call may add. Each queue keeps its table from call to call: to fill it costs less than to make
-- it. Only the first of `waiting`, as many as `pushed` counts, belong to this call.
function batch_adds.open(q, count)
  local adding = q.adding_kept
  if not adding then
    adding = { count = 0, number = false, last = 0, waiting = {}, pushed = 0, is_capped = false }
    q.adding_kept = adding
  end
  adding.count = count
  adding.number = false
  adding.last = 0
  adding.pushed = 0
  adding.is_capped = false
  q.adding = adding
end

-- Write: the numbers of all that the call may add. The last one that was given is `adding.number`.
function batch_adds.take_numbers(q)
  local adding = q.adding
  if not adding.number then
    adding.last = call("INCRBY", q.counter, clock.text(adding.count))
    adding.number = adding.last - adding.count
  end
  return adding
end

-- Write: the number of one more job.
function batch_adds.next_number(q)
  if not q.adding then
    return call("INCR", q.counter)
  end
  local adding = batch_adds.take_numbers(q)
  adding.number = adding.number + 1
  return adding.number
end

-- Write: the job waits behind all others.
function batch_adds.push(q, id)
  local adding = q.adding
  if adding then
    local pushed = adding.pushed + 1
    adding.waiting[pushed], adding.pushed = id, pushed
  else
    call("LPUSH", q.wait, id)
  end
end

-- Settle of a run of usual jobs, numbered one after the other from `q.first_number` on: the answer. Where one of them could
-- not be written, that is the error, and those before it have been told of.
function batch_adds.answer(q, count, is_done, err)
  q.adding.is_capped = true
  if not is_done then
    error(err, 0)
  end
  return "numbered", q.first_number, count
end

-- Settle: numbers that a refused job did not use are given back.
function batch_adds.flush(q)
  local adding = q.adding
  if not adding then
    return
  end
  q.adding = false
  local pushed = adding.pushed
  if pushed == 1 then
    call("LPUSH", q.wait, adding.waiting[1])
  elseif pushed > 1 then
    call("LPUSH", q.wait, unpack(adding.waiting, 1, pushed))
  end
  if adding.number and adding.number < adding.last then
    call("DECRBY", q.counter, clock.text(adding.last - adding.number))
  end
  if adding.is_capped then
    -- Each has told of itself twice since the stream was measured.
    q.events_length = q.events_length and q.events_length + 2 * adding.count
    events.trim(q)
  end
end

return batch_adds
