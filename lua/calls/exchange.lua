--- exchange: a worker hands in what it has finished and gets what it has room for
--- @arg    fetch_count     int      how many jobs the worker has room for
--- @arg    ahead_count     int      how many it takes beside them, of those that have never begun; 0 of both fetches nothing
--- @arg    token           string   for the jobs it gets
--- @arg    lease_ms        string
--- @arg    worker          string   the worker's name; empty for none
--- @arg    limit_max       string   the worker's own rate limit; empty for none
--- @arg    limit_ms        string
--- @arg    max_bytes       int      the fetch ends after this much payload
--- @arg    after_finish    flag     fetch only if all that was handed in was accepted
--- @items  complete | complete_in_lane | fail | retry | delay | give_back | await_children
--- @reply  finishes that were refused or became something else (number, word, value), fetched, dropped ids, limited for ms, next due ms, is more ready, what went wrong in fetching; where there is nothing but fetched jobs, those alone
local batch_claims = require("lib.batch_claims")
local batch_ends = require("lib.batch_ends")
local clock = require("lib.clock")
local delays = require("lib.delays")
local emptiness = require("lib.emptiness")
local events = require("lib.events")
local exchange_outcome = require("lib.exchange_outcome")
local items = require("lib.items")
local lane_followers = require("lib.lane_followers")
local lane_writing = require("lib.lane_writing")
local lane_times = require("lib.lane_times")
local limits = require("lib.limits")
local queue = require("lib.queue")
local retention = require("lib.retention")
local signals = require("lib.signals")
local claim = require("transitions.claim")
local retry = require("transitions.retry")

-- Whoever retries at once competes with what has come due meanwhile, so that goes first.
local function promote_first(q)
  if not q.has_promoted then
    q.has_promoted = true
    delays.promote_due(q)
    if queue.settings(q).lanes then
      lane_times.promote_due(q)
    end
  end
end

local function retry_after_promotion(q, arg)
  promote_first(q)
  lane_writing.show_released(q)
  return retry(q, arg)
end

local transitions = {
  complete = require("transitions.complete"),
  complete_in_lane = require("transitions.complete_in_lane"),
  fail = require("transitions.fail"),
  retry = retry_after_promotion,
  delay = require("transitions.delay"),
  give_back = require("transitions.give_back"),
  await_children = require("transitions.await_children"),
}

-- A worker takes at most half of what is ready, so that one does not swallow a burst while others idle. A
-- single job is never halved away, and as many lanes as it has moved on in this call are its own to go on with: it takes
-- half of the others. Who has room for one and finds one need not know what else there is.
local function share(q, arg, wanted)
  if wanted <= 1 then
    return wanted
  end
  local ready_count = call("LLEN", q.wait)
  if ready_count == 1 and arg.fetch_count == 1 then
    return 1
  end
  if ready_count < 2 * wanted then
    ready_count = ready_count + call("ZCARD", q.prioritized)
  end
  local first, last = lane_followers.left(q)
  ready_count = ready_count + last - first + 1
  return math.min(wanted, math.max(1, math.ceil((ready_count + q.lanes_moved_on) / 2)))
end

-- How many jobs may be taken now, or 0 and for how many ms the rate limit holds. Where a limit counts those that run,
-- nobody holds one that does not.
local function allowance(q, arg, settings, limit_max)
  local limited_ms = limit_max and limits.remaining_ms(q, limit_max) or 0
  if limited_ms > 0 then
    return 0, limited_ms
  end
  if settings.is_paused then
    return 0, 0
  end
  local wanted = arg.fetch_count + arg.ahead_count
  if settings.concurrency then
    wanted = math.min(arg.fetch_count, settings.concurrency - call("LLEN", q.active))
  end
  if limit_max then
    wanted = math.min(arg.fetch_count, wanted, limits.room(q, limit_max))
  end
  -- A limit may be a fraction: as long as fewer run than it says, one more may.
  return wanted > 0 and share(q, arg, math.ceil(wanted)) or 0, 0
end

-- Claims these jobs, from that at `first` to that at `last`, as far as the reply has room. False if one of them has to
-- wait for a free slot.
local function claim_all(q, arg, from, ids, first, step, last, outcome)
  arg.from, arg.job_ids, arg.at, arg.step, arg.last, arg.peeked = from, ids, first, step, last, false
  while (last - arg.at) * step >= 0 and arg.room > 0 do
    local word, count = claim(q, arg, outcome)
    if word == "left" then
      return false
    elseif word == "ghost" and from == "lane" then
      lane_followers.pass_over(q, ids[arg.at])
    elseif word == "ghost" then
      outcome.ghosts[#outcome.ghosts + 1] = ids[arg.at]
    elseif word ~= "claimed" then
      outcome.turned_back = outcome.turned_back + 1
      -- The end of one that followed has let another out, and with it into the ready order all that followed behind.
      if from == "lane" and q.shown_count > arg.at then
        return true
      end
    end
    arg.at = arg.at + count * step
  end
  return true
end

-- The same with up to `count` of those who follow in their lanes: they come behind all that waits. How many more there is
-- room for is the second answer.
local function claim_followers(q, arg, count, outcome)
  local goes_on, most = true, outcome.count + count
  local first, last = lane_followers.left(q)
  while goes_on and first <= last and outcome.count < most and arg.room > 0 do
    last = math.min(last, first + most - outcome.count - 1)
    goes_on = claim_all(q, arg, "lane", lane_followers.ids, first, 1, last, outcome)
    first, last = lane_followers.left(q)
  end
  return goes_on, most - outcome.count
end

local one = {}

-- Claims `count` jobs in the order in which they run. The records come along, so that nothing is read twice.
local function fetch(q, arg, count, outcome)
  arg.room = arg.max_bytes
  local goes_on = true
  if count == 1 then
    one[1] = call("LINDEX", q.wait, "-1") or nil
    if one[1] then
      goes_on, count = claim_all(q, arg, "wait", one, 1, 1, 1, outcome), 0
    end
  else
    batch_claims.open(q)
    local waiting = call("LRANGE", q.wait, clock.text(-count), "-1")
    goes_on = claim_all(q, arg, "wait", waiting, #waiting, -1, 1, outcome)
    count = count - #waiting
  end
  if goes_on and count > 0 and q.followed_count > q.shown_count then
    goes_on, count = claim_followers(q, arg, count, outcome)
  end
  if goes_on and count > 0 then
    local prioritized = call("ZRANGE", q.prioritized, "0", clock.text(count - 1))
    claim_all(q, arg, "prioritized", prioritized, 1, 1, #prioritized, outcome)
    if #prioritized == 0 then
      call("DEL", q.priority_counter)
    end
  end
  batch_claims.flush(q)
end

-- Accepted, though not as it was handed in: the job's group decides otherwise.
local ACCEPTED = { failed = true, cancelled = true }

-- Whoever finishes by hand is told of a refusal by an error, and could not see a job that came with it.
local function has_refusal(told)
  for i = 2, #told, 3 do
    if not ACCEPTED[told[i]] then
      return true
    end
  end
  return false
end

local function look_for_work(q, arg, outcome)
  if arg.after_finish and has_refusal(outcome.refused) then
    return
  end
  local is_settled = false
  if arg.fetch_count + arg.ahead_count > 0 then
    local settings = queue.settings(q)
    promote_first(q)
    lane_writing.push_opened(q)
    local count
    local limit_max, limit_ms = limits.of(settings, arg.limit_max, arg.limit_ms)
    outcome.limit_max, outcome.limit_ms = limit_max, limit_ms
    count, outcome.limited_ms = allowance(q, arg, settings, limit_max)
    if count > 0 then
      fetch(q, arg, count, outcome)
      -- Those that went back into their lanes have left room for as many others.
      if outcome.turned_back > 0 and outcome.count + #outcome.ghosts + outcome.turned_back >= count then
        lane_writing.show_released(q)
        fetch(q, arg, outcome.turned_back, outcome)
      end
      lane_writing.show_released(q)
      -- Ends that came alone have told of themselves without looking at the cap.
      if q.events_length then
        events.trim(q)
      end
    end
    if outcome.count < arg.fetch_count then
      -- The worker has room left and may go to sleep: it must know whether to come back, and when.
      -- Behind an id that had to be dropped, or was sent back, there may be a job.
      outcome.is_more = outcome.count + #outcome.ghosts + outcome.turned_back > 0 and (call("LLEN", q.wait) > 0 or call("ZCARD", q.prioritized) > 0)
      outcome.due = signals.next_due(q) or 0
    end
    is_settled = outcome.limited_ms > 0 or settings.is_paused or outcome.due > 0
  end
  if outcome.count == 0 and not is_settled then
    emptiness.tell(q)
  end
end

-- Trouble in fetching is told beside what was done: the finishes stand, and so do the jobs that were claimed.
local function run(q, arg, batch)
  batch_ends.look(q, items.firsts(q, batch))
  local refused = items.refused(q, batch, transitions)
  batch_ends.flush(q)
  local outcome = exchange_outcome.new(refused)
  -- Before the fetch: an expired child may release its parent into this queue. Tidying up refuses nothing.
  if q.retention_asked then
    pcall(retention.apply, q)
  end
  local is_done, err = pcall(look_for_work, q, arg, outcome)
  if not is_done then
    outcome.trouble = items.message(err)
    batch_claims.flush(q)
  end
  if outcome.count > 0 then
    signals.work_always(q)
  end
  return outcome
end

return {
  run = run,
  render = exchange_outcome.render,
  keep = exchange_outcome.keep,
  again = exchange_outcome.again,
}
