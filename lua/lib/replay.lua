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

-- Mostly a client waits for one call alone. Its outcome is kept as text behind this sign and two numbers, the floor
-- and its own; several are packed.
local ALONE = "1"

local function recall(stored)
  if string.sub(stored, 1, 1) ~= ALONE then
    return cmsgpack.unpack(string.sub(stored, 2))
  end
  local _, last, floor, sequence = string.find(stored, "^1(%d+) (%d+) ")
  return { tonumber(floor), tonumber(sequence), string.sub(stored, last + 1) }
end

-- Keeps the outcome for a repetition, beside those that the client still waits for, oldest first. Not being able
-- to is no reason to tell the client that its call failed.
local function remember(key, past, floor, sequence, kept)
  floor = past and math.max(floor, past[1]) or floor
  -- The client waits for nothing else: there is nothing to carry over.
  if not past or past[#past - 1] <= floor then
    call("SET", key, ALONE .. clock.text(floor) .. " " .. clock.text(sequence) .. " " .. kept, "PX", KEPT_MS)
    return
  end
  local memory = { floor }
  for i = 2, past and #past or 0, 2 do
    if past[i] > floor then
      memory[#memory + 1], memory[#memory + 2] = past[i], past[i + 1]
    end
  end
  if #memory > 2 * MOST_KEPT then
    memory[1] = math.max(floor, table.remove(memory, 2))
    table.remove(memory, 2)
  end
  memory[#memory + 1], memory[#memory + 2] = sequence, kept
  call("SET", key, "n" .. cmsgpack.pack(memory), "PX", KEPT_MS)
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
  local past = stored and recall(stored)
  if past then
    for i = 2, #past, 2 do
      if past[i] == sequence then
        return { "ok", q.now_text, replied_again(handler, q, past[i + 1], arg) }
      end
    end
    if sequence <= past[1] then
      return { "stale", q.now_text }
    end
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
  pcall(remember, key, past, floor, sequence, kept_of(handler, outcome))
  return { "ok", q.now_text, handler.render(q, outcome, arg) }
end

return replay
