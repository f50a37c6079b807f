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

-- Mostly there is no wish, or the same as just before, and no table to make.
local KEEP_ALL = { count = -1, limit = MOST_PER_CALL }
local last_count, last_age, last_limit, last_keep

-- Not to be changed by who gets it.
function retention.of(count, age, limit)
  if count == "" and age == "" then
    return KEEP_ALL
  end
  if count ~= last_count or age ~= last_age or limit ~= last_limit then
    last_count, last_age, last_limit = count, age, limit
    last_keep = { count = tonumber(count) or -1, age = tonumber(age), limit = tonumber(limit) or MOST_PER_CALL }
  end
  return last_keep
end

-- Most are tied to nothing that has to hear of it, and go together. Whether all were.
local function erase(q, ids)
  local untied = {}
  for _, id in ipairs(ids) do
    local row = jobs.fields(q, id, "parentKey", jobs.field.group)
    if row and (row[1] or row[2]) then
      bonds.expired(q, jobs.load_brief(q, id) or { id = id })
      jobs.erase(q, id)
    else
      untied[#untied + 1] = id
    end
  end
  jobs.erase_many(q, untied)
  return #untied == #ids
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
    if #ids > 0 and erase(q, ids) and #ids < MOST_PER_CALL then
      -- They are the oldest, and nobody has heard of it who could have put one in front of them.
      call("ZREMRANGEBYRANK", set, 0, #ids - 1)
    elseif #ids > 0 then
      call("ZREM", set, unpack(ids))
    end
  end
end

local function is_asked(asked, target, keep)
  for i = 1, #asked do
    local wish = asked[i]
    local other = wish.keep
    if wish.target == target and other.count == keep.count and other.age == keep.age and other.limit == keep.limit then
      return true
    end
  end
  return false
end

-- Remembers the wish; jobs that finish in one call mostly share one, and then it is carried out once. `target` is
-- `completed` or `failed`.
function retention.ask(q, target, keep)
  if keep == KEEP_ALL then
    return
  end
  local asked = q.retention_asked
  if not asked then
    asked = {}
    q.retention_asked = asked
  end
  if not is_asked(asked, target, keep) then
    asked[#asked + 1] = { target = target, keep = keep }
  end
end

-- Settle, once all items of the call are done.
function retention.apply(q)
  local asked = q.retention_asked
  if asked then
    for i = 1, #asked do
      trim(q, q[asked[i].target], asked[i].keep)
    end
  end
end

return retention
