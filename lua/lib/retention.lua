-- Trims finished jobs by age and by count, bounded per call so that Redis is never held for long.

local bonds = require("lib.bonds")
local jobs = require("lib.jobs")

local retention = {}

-- What one call may delete. A backlog of old jobs shrinks call by call.
local MOST_PER_CALL = 1000

-- Keep nothing at all: the finished job is erased instead of stored.
function retention.keeps_none(keep)
  return keep.count == 0
end

-- Mostly there is no wish, and no table to make.
local KEEP_ALL = { count = -1, limit = MOST_PER_CALL }

function retention.of(count, age, limit)
  if count == "" and age == "" then
    return KEEP_ALL
  end
  return { count = tonumber(count) or -1, age = tonumber(age), limit = tonumber(limit) or MOST_PER_CALL }
end

-- Most are tied to nothing that has to hear of it, and go together.
local function erase(q, ids)
  local untied = {}
  for _, id in ipairs(ids) do
    local row = jobs.fields(q, id, "parentKey", jobs.field.group)
    if row and (row[1] or row[2]) then
      bonds.expired(q, jobs.load(q, id) or { id = id })
      jobs.erase(q, id)
    else
      untied[#untied + 1] = id
    end
  end
  jobs.erase_many(q, untied)
end

local function trim(q, set, keep)
  if keep.age then
    local most = math.min(keep.limit, MOST_PER_CALL)
    local cutoff = q.now - keep.age * 1000
    local ids = call("ZREVRANGEBYSCORE", set, cutoff, "-inf", "LIMIT", 0, most)
    if #ids > 0 then
      erase(q, ids)
      call("ZREM", set, unpack(ids))
    end
  end
  if keep.count > 0 then
    local ids = call("ZREVRANGE", set, keep.count, keep.count + MOST_PER_CALL - 1)
    if #ids > 0 then
      erase(q, ids)
      call("ZREM", set, unpack(ids))
    end
  end
end

-- Remembers the wish; jobs that finish in one call mostly share one, and then it is carried out once.
function retention.ask(q, set, keep)
  if not keep.age and keep.count < 0 then
    return
  end
  local asked = rawget(q, "retention_asked")
  if not asked then
    asked = { order = {} }
    rawset(q, "retention_asked", asked)
  end
  local wish = set .. "/" .. keep.count .. "/" .. tostring(keep.age) .. "/" .. keep.limit
  if not asked[wish] then
    asked[wish] = true
    asked.order[#asked.order + 1] = { set = set, keep = keep }
  end
end

-- Settle, once all items of the call are done.
function retention.apply(q)
  local asked = rawget(q, "retention_asked")
  if asked then
    for _, wish in ipairs(asked.order) do
      trim(q, wish.set, wish.keep)
    end
  end
end

return retention
