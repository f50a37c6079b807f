-- A reply can be lost after the call ran. Every mutating call carries its client's id, a sequence number and
-- the client's floor: the number below which it waits for no reply any more. The last outcomes are kept;
-- the same number again gets the same outcome and nothing is done twice. What arrives from below the floor
-- was given up or answered long ago (it sat in a broken connection) and is refused.

local clock = require("lib.clock")
local keys = require("lib.keys")
local queue = require("lib.queue")
local retention = require("lib.retention")
local signals = require("lib.signals")

local replay = {}

-- Clients send a call again for two minutes at most; the rest is room for clocks and slow networks.
local KEPT_MS = "300000"

-- `handler.run` does the work and returns the outcome: ids and words. Its
-- `records`, the payloads read on the way, serve this reply and are not kept. `handler.render` makes the
-- reply of it, now or when the call is sent again.
function replay.run(root, client, sequence, floor, now, handler, arg, batch)
  local key = keys.replay(root, client)
  local q = queue.open(root, clock.now(now))
  sequence, floor = tonumber(sequence), tonumber(floor)

  local kept = {}
  local stored = call("GET", key)
  if stored then
    local past = cmsgpack.unpack(stored)
    for i = 2, #past, 2 do
      if past[i] == sequence then
        return { "ok", q.now_text, handler.render(q, cmsgpack.unpack(past[i + 1]), arg) }
      end
      if past[i] > floor then
        kept[#kept + 1], kept[#kept + 2] = past[i], past[i + 1]
      end
    end
    if sequence <= past[1] then
      return { "stale", q.now_text }
    end
    floor = math.max(floor, past[1])
  end

  local layout = queue.settings(q).layout
  if layout and layout ~= queue.layout then
    return { "layout_unknown", q.now_text, layout }
  end

  local outcome = handler.run(q, arg, batch)
  retention.apply(q)
  signals.flush(q)
  local payloads = outcome.records
  outcome.records = nil
  call("SET", key, cmsgpack.pack({ floor, sequence, cmsgpack.pack(outcome), unpack(kept) }), "PX", KEPT_MS)
  outcome.records = payloads
  return { "ok", q.now_text, handler.render(q, outcome, arg) }
end

return replay
