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

-- Mostly a client waits for one call alone. Its outcome is kept as text behind two numbers, the floor and its own;
-- those of several are packed behind this sign.
local SEVERAL = "n"

-- What is kept of a client: the floor, then number and outcome of each call.
local function unpack_several(stored)
  return cmsgpack.unpack(string.sub(stored, 2))
end

-- The floor, the number of the latest call, and the outcome of the one with this number, if it is there.
local function recall(stored, sequence)
  local floor, latest, first = string.match(stored, "^(%d+) (%d+) ()")
  if floor then
    latest = tonumber(latest)
    return tonumber(floor), latest, latest == sequence and string.sub(stored, first) or nil
  end
  local past = unpack_several(stored)
  for i = 2, #past, 2 do
    if past[i] == sequence then
      return past[1], past[#past - 1], past[i + 1]
    end
  end
  return past[1], past[#past - 1], nil
end

-- All that the client still waits for, oldest first, with this outcome behind them.
local function pack_several(stored, floor, sequence, kept)
  local past
  local only, first = string.match(stored, "^%d+ (%d+) ()")
  if only then
    past = { floor, tonumber(only), string.sub(stored, first) }
  else
    past = unpack_several(stored)
  end
  local memory = { floor }
  for i = 2, #past, 2 do
    if past[i] > floor then
      memory[#memory + 1], memory[#memory + 2] = past[i], past[i + 1]
    end
  end
  if #memory > 2 * MOST_KEPT then
    memory[1] = math.max(floor, table.remove(memory, 2))
    table.remove(memory, 2)
  end
  memory[#memory + 1], memory[#memory + 2] = sequence, kept
  return SEVERAL .. cmsgpack.pack(memory)
end

-- Keeps the outcome for a repetition, beside those that the client still waits for. Not being able to is no reason to
-- tell the client that its call failed.
local function remember(key, stored, latest, floor, sequence, kept)
  local text
  -- The client waits for nothing else: there is nothing to carry over.
  if latest <= floor then
    text = clock.text(floor) .. " " .. clock.text(sequence) .. " " .. kept
  else
    text = pack_several(stored, floor, sequence, kept)
  end
  call("SET", key, text, "PX", KEPT_MS)
end

-- Settle of the whole call. What fails here was only tidying up or a hint: the items are done, and their outcome
-- is worth more than an error.
local function settle(q)
  if q.family then
    for _, member in pairs(q.family) do
      pcall(lane_writing.flush, member)
    end
  elseif q.lane_books then
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

-- `handler.run` does the work and returns the outcome: ids and words. `handler.render` makes the reply of it, now or
-- when the call is sent again. An outcome that has more than is worth keeping says with `handler.keep` what is kept,
-- as text, and makes the later reply from that with `handler.again`.
function replay.run(root, client, sequence, floor, now, handler, arg, batch)
  local key = keys.replay(root, client)
  local q = queue.open(root, clock.now(now))
  sequence, floor = tonumber(sequence), tonumber(floor)

  local stored = call("GET", key)
  local latest = 0
  if stored then
    local past_floor, outcome
    past_floor, latest, outcome = recall(stored, sequence)
    if outcome then
      return { "ok", q.now_text, replied_again(handler, q, outcome, arg) }
    end
    if sequence <= past_floor then
      return { "stale", q.now_text }
    end
    floor = math.max(floor, past_floor)
  end

  local layout = queue.settings(q).layout
  if layout and layout ~= queue.layout then
    return { "layout_unknown", q.now_text, layout }
  end

  local is_done, outcome = pcall(handler.run, q, arg, batch)

  -- settle
  settle(q)
  if not is_done then
    error(outcome, 0)
  end
  pcall(remember, key, stored, latest, floor, sequence, kept_of(handler, outcome))
  return { "ok", q.now_text, handler.render(q, outcome, arg) }
end

return replay
