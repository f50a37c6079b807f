-- A reply can be lost after the call ran. Every mutating call carries its client's id, a sequence number and
-- the client's floor: the number below which it waits for no reply any more. The last outcomes are kept;
-- the same number again gets the same outcome and nothing is done twice. What arrives from below the floor
-- was given up or answered long ago (it sat in a broken connection) and is refused.

local clock = require("lib.clock")
local keys = require("lib.keys")
local lane_writing = require("lib.lane_writing")
local queue = require("lib.queue")
local signals = require("lib.signals")

local replay = {}

-- Clients send a call again for two minutes at most; the rest is room for clocks and slow networks.
local KEPT_MS = "300000"
-- More than a client has on its way (src/store/session.ts). What does not fit is forgotten as answered: sent
-- again, it is refused rather than done twice.
local MOST_KEPT = 256

-- What is kept of a client is one text: the highest number that has run, the floor, then the calls that it may still
-- wait for, the last first: number, length of the outcome, outcome.
local TWO_NUMBERS = "^(%d+) (%d+) ()"

-- The entry that begins there: its number, where its outcome begins, and where the next one does.
local function entry(stored, at)
  local number, length, first = string.match(stored, TWO_NUMBERS, at)
  return clock.number(number), first, first + clock.number(length)
end

-- The outcome of the call with this number, if it is there. Calls may overtake each other: all are looked at.
local function recall(stored, at, sequence)
  local last = #stored
  while at <= last do
    local number, first, behind = entry(stored, at)
    if number == sequence then
      return string.sub(stored, first, behind - 1)
    end
    at = behind
  end
  return nil
end

-- The entries of all calls that the client still waits for, and the floor: higher where there are too many of them.
local function carry(stored, at, floor)
  local last, carried, count = #stored, {}, 0
  while at <= last do
    local number, _, behind = entry(stored, at)
    if number > floor then
      count = count + 1
      if count == MOST_KEPT then
        floor = number
        break
      end
      carried[count] = string.sub(stored, at, behind - 1)
    end
    at = behind
  end
  return table.concat(carried), floor
end

-- What was kept so far, for a call with this number: its outcome if it has run, `stale` if nobody waits for it, and what
-- stays behind its own outcome otherwise (nil where that is nothing).
local function look_up(stored, sequence, floor)
  -- Mostly everything was answered before this call was sent, and nothing has to be read.
  if not stored or string.sub(stored, 1, #floor + 1) == floor .. " " then
    return nil, false, nil
  end
  local highest, past_floor, at = string.match(stored, TWO_NUMBERS)
  local number = clock.number(sequence)
  highest, past_floor = clock.number(highest), clock.number(past_floor)
  local outcome = number <= highest and recall(stored, at, number)
  if outcome then
    return outcome, false, nil
  end
  if number <= past_floor then
    return nil, true, nil
  end
  local carried, kept_floor = carry(stored, at, math.max(clock.number(floor), past_floor))
  return nil, false, { highest = clock.text(math.max(highest, number)), floor = clock.text(kept_floor), carried = carried }
end

-- Keeps the outcome for a repetition, beside those that the client still waits for. Not being able to is no reason to
-- tell the client that its call failed.
local function remember(key, sequence, floor, past, kept)
  local highest, carried = sequence, ""
  if past then
    highest, floor, carried = past.highest, past.floor, past.carried
  end
  local length = clock.text(#kept)
  call("SET", key, highest .. " " .. floor .. " " .. sequence .. " " .. length .. " " .. kept .. carried, "PX", KEPT_MS)
end

-- Settle of the whole call. What fails here was only tidying up or a hint: the items are done, and their outcome
-- is worth more than an error.
local function settle(q)
  if q.family then
    for _, member in pairs(q.family) do
      pcall(lane_writing.flush, member)
    end
  elseif q.lane_books or q.handed_count > 0 then
    pcall(lane_writing.flush, q)
  end
  pcall(signals.flush, q)
end

-- An outcome that is text already is kept and told as it is.
local TEXT, TABLE = "t", "p"

local function kept_of(handler, outcome)
  if handler.keep then
    return handler.keep(outcome)
  end
  return type(outcome) == "string" and TEXT .. outcome or TABLE .. cmsgpack.pack(outcome)
end

local function replied_again(handler, q, kept, arg)
  if handler.again then
    return handler.again(q, kept, arg)
  end
  local rest = string.sub(kept, 2)
  return handler.render(q, string.sub(kept, 1, 1) == TEXT and rest or cmsgpack.unpack(rest), arg)
end

-- The calls that are made all the time answer with a text: behind the time it is read quicker than in a list of three.
-- `has_time`: it is told in the text itself.
local function reply(q, body, has_time)
  if type(body) == "string" then
    return has_time and body or q.now_text .. body
  end
  return { "ok", q.now_text, body }
end

-- `handler.run` does the work and returns the outcome: ids and words. Where there is `handler.briefly` that is asked first:
-- what it does touches no key of ours but this memory, so it need not know their layout; nil where it has done nothing.
-- `handler.render` makes the reply of the outcome, now or when the call is sent again. An outcome that has more than is
-- worth keeping says with `handler.keep` what is kept, as text, and makes the later reply from that with `handler.again`.
function replay.run(root, client, sequence, floor, now, handler, arg, batch)
  local key = keys.replay(root, client)
  local q = queue.open(root, clock.now(now))
  local past_outcome, is_stale, past = look_up(call("GET", key), sequence, floor)
  if past_outcome then
    return reply(q, replied_again(handler, q, past_outcome, arg))
  end
  if is_stale then
    return { "stale", q.now_text }
  end

  local is_done, outcome = true, nil
  if handler.briefly then
    is_done, outcome = pcall(handler.briefly, q, arg)
  end
  if is_done and not outcome then
    local layout = queue.settings(q).layout
    if layout and layout ~= queue.layout then
      return { "layout_unknown", q.now_text, layout }
    end
    is_done, outcome = pcall(handler.run, q, arg, batch)
  end

  -- settle
  settle(q)
  if not is_done then
    error(outcome, 0)
  end
  pcall(remember, key, sequence, floor, past, kept_of(handler, outcome))
  return reply(q, handler.render(q, outcome, arg))
end

return replay
