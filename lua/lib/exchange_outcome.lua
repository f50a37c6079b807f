-- What came of a worker's exchange: the reply, and what is kept of it for a call that is sent again.

local items = require("lib.items")
local jobs = require("lib.jobs")
local keys = require("lib.keys")

local exchange_outcome = {}

-- `refused` is that of the finishes. `records` are ids and records of the jobs that were claimed, `ghosts` ids that had
-- to be dropped.
function exchange_outcome.new(refused)
  return {
    refused = refused, count = 0, records = {}, ghosts = {},
    last_name = false, last_options = false, last_priority = false, leased = false,
    turned_back = 0, limit_max = false, limit_ms = false, limited_ms = 0, due = 0, is_more = false, trouble = "",
  }
end

-- Numbers of milliseconds, mostly none.
local function whole(number)
  return number == 0 and "0" or string.format("%.0f", number)
end

local function reply_of(refused, records, ghosts, limited_ms, due, is_more, trouble)
  return "[" .. items.text(refused) .. "," .. items.text(records) .. "," .. items.text(ghosts) .. ',"' .. limited_ms
    .. '","' .. due .. '","' .. is_more .. '",' .. (trouble == "" and '""' or cjson.encode(trouble)) .. "]"
end

-- Mostly there are records to tell of and nothing else. Asked when nothing is added any more, and then answered once.
local function has_records_only(outcome)
  local known = outcome.has_records_only
  if known == nil then
    known = #outcome.refused == 0 and #outcome.ghosts == 0 and outcome.limited_ms == 0 and outcome.due == 0
      and not outcome.is_more and outcome.trouble == ""
    outcome.has_records_only = known
  end
  return known
end

-- Where they are all there is they are the reply, with the time behind them (then the second answer is true): each text is
-- read through once to be kept, and this one may be long.
function exchange_outcome.render(q, outcome)
  if has_records_only(outcome) then
    local records = outcome.records
    records[#records + 1] = q.now_text
    return cjson.encode(records), true
  end
  return reply_of(outcome.refused, outcome.records, outcome.ghosts, whole(outcome.limited_ms),
    whole(math.floor(outcome.due)), outcome.is_more and "1" or "", outcome.trouble)
end

-- Records are not kept, only ids: mostly they are all there is to keep.
local NO_ID, ONE_ID, IDS_ONLY, ALL = "0", "1", "i", "a"

local function ids_of(records)
  local ids = {}
  for i = 1, #records, 2 do
    ids[(i + 1) / 2] = records[i]
  end
  return ids
end

function exchange_outcome.keep(outcome)
  if has_records_only(outcome) then
    if outcome.count == 0 then
      return NO_ID
    elseif outcome.count == 1 then
      return ONE_ID .. outcome.records[1]
    end
    return IDS_ONLY .. cmsgpack.pack(ids_of(outcome.records))
  end
  return ALL .. cmsgpack.pack({
    ids_of(outcome.records), outcome.refused, outcome.ghosts, whole(outcome.limited_ms), whole(math.floor(outcome.due)),
    outcome.is_more and "1" or "", outcome.trouble,
  })
end

-- The worker counts the start itself, from the record as it was before the claim.
local function forget_start(flat)
  for i = 1, #flat, 2 do
    if flat[i] == jobs.field.attempts_started then
      flat[i + 1] = tostring(math.max((tonumber(flat[i + 1]) or 0) - 1, 0))
    end
  end
end

-- Jobs whose lease this worker still has are read anew.
local function read_anew(q, ids, token)
  local records = {}
  for i = 1, #ids do
    local id = ids[i]
    local flat = (token == "0" or call("GET", keys.lock(q, id)) == token) and jobs.read(q, id)
    if flat then
      forget_start(flat)
      records[#records + 1], records[#records + 2] = id, flat
    end
  end
  return records
end

function exchange_outcome.again(q, text, arg)
  local sign, rest = string.sub(text, 1, 1), string.sub(text, 2)
  local kept = sign == NO_ID and {} or sign == ONE_ID and { rest } or cmsgpack.unpack(rest)
  if sign ~= ALL then
    kept = { kept, {}, {}, "0", "0", "", "" }
  end
  local records = read_anew(q, kept[1], arg.token)
  return reply_of(kept[2], records, kept[3], kept[4], kept[5], kept[6], kept[7])
end

return exchange_outcome
