-- Who is out of a lane, as it lies in the store: one field of one hash for each lane, and how it is read for one lane and
-- for many.

local handovers = require("lib.lane_handovers")

local lane_out = {}

-- One id is told as it is, as nearly always. Several are told behind a colon, one after the other, each behind its length;
-- and so is one that begins with a colon.
local SEVERAL, COLON = ":", 58

function lane_out.ids_of(text)
  if not text or text == "" then
    return {}
  elseif string.byte(text) ~= COLON then
    return { text }
  end
  local ids, at = {}, 2
  while at <= #text do
    local length, from = string.match(text, "^(%d+):()", at)
    if not length then
      break
    end
    at = from + tonumber(length)
    ids[#ids + 1] = string.sub(text, from, at - 1)
  end
  return ids
end

function lane_out.text_of(ids)
  if #ids == 1 and string.byte(ids[1]) ~= COLON then
    return ids[1]
  end
  local parts = { SEVERAL }
  for i, id in ipairs(ids) do
    parts[i + 1] = #id .. ":" .. id
  end
  return table.concat(parts)
end

-- Whether this one is out and nobody else. What tells of several has more colons than an id may have.
function lane_out.tells_of_one(text, id)
  return text == id or string.byte(id) == COLON and text == lane_out.text_of({ id })
end

-- Who is out of a lane that is not open.
function lane_out.read(q, name)
  local handed_to = handovers.of(q)[name]
  if handed_to == nil then
    return call("HGET", q.lane_out, name)
  end
  return handed_to and lane_out.text_of({ handed_to }) or ""
end

-- So many lanes in one call are worth it.
local MANY = 8
-- Longer than what a server keeps in a small hash.
local LONG = "------------------------------------------------------------------------"

-- Write: a small hash is searched from its beginning for every lane. Given one long value, and be it for a moment, the
-- server finds its fields by an index from then on. It changes nothing that anybody can read.
local function index_out(q)
  if call("HLEN", q.lane_out) >= MANY then
    call("HSET", q.lane_out, "", LONG)
    call("HDEL", q.lane_out, "")
    q.lane_out_kept = true
  end
end

-- Who is out of each of these lanes, which are not open.
function lane_out.texts(q, names, first, last)
  if first == last then
    return { call("HGET", q.lane_out, names[first]) }
  end
  if last - first + 1 >= MANY and not q.lane_out_kept then
    index_out(q)
  end
  return call("HMGET", q.lane_out, unpack(names, first, last))
end

-- Of how many of these lanes, from the first on, which this call has not touched, only the one is out that stands beside
-- it, from `ids[first]` on.
function lane_out.count_alone(q, names, ids, first, count)
  if count == 0 then
    return 0
  end
  local texts = lane_out.texts(q, names, 1, count)
  for i = 1, count do
    local id = ids[first + i - 1]
    if texts[i] ~= id and not lane_out.tells_of_one(texts[i], id) then
      return i - 1
    end
  end
  return count
end

return lane_out
