-- What a call has to say of its lanes, written when it ends: a batch that moves a hundred lanes on writes a handful of
-- commands for all of them.

local handovers = require("lib.lane_handovers")
local lane_followers = require("lib.lane_followers")
local lane_out = require("lib.lane_out")
local lane_rules = require("lib.lane_rules")
local lane_state = require("lib.lane_state")
local signals = require("lib.signals")

local lane_writing = {}

-- Values in one command; Lua refuses to unpack much more than this.
local BATCH = 1000

local function push(q, ids, first, last)
  for from = first, last, BATCH do
    call("LPUSH", q.wait, unpack(ids, from, math.min(from + BATCH - 1, last)))
    signals.work(q)
  end
end

-- Settle: what opened lanes have let out is in the ready order. Before a fetch, so that it finds it.
function lane_writing.push_opened(q)
  local kept = q.lane_books
  local pushed = kept and kept.pushed_count or 0
  if pushed > 0 then
    kept.pushed_count = 0
    push(q, kept.pushed, 1, pushed)
  end
end

-- Settle: so is all that was let out. There are never some of both kinds: see lanes.lua.
function lane_writing.push_all(q)
  lane_writing.push_opened(q)
  lane_followers.show(q, push)
end

-- Settle: what lanes have let out in this call is where a fetch finds it.
function lane_writing.show_released(q)
  if q.lane_books or q.handed_count > 0 then
    lane_writing.push_all(q)
  end
end

local write = {
  add = function(key, ...) return call("ZADD", key, ...) end,
  remove = function(key, ...) return call("ZREM", key, ...) end,
  set = function(key, ...) return call("HSET", key, ...) end,
  unset = function(key, ...) return call("HDEL", key, ...) end,
}

-- As many values in one command as may be. Each on its own: a key that cannot be written must not keep the others
-- from being written, and the jobs themselves are where they belong; the upkeep finds what is missing here.
local function put_out(command, key, values, count)
  for first = 1, count, BATCH do
    pcall(command, key, unpack(values, first, math.min(first + BATCH - 1, count)))
  end
end

-- What is to be written, kept from call to call: to fill these lists costs less than to make them. Only the first of
-- each, as many as are counted, belong to this call.
local waiting, gone = {}, {}
local out, none_out, listed, ended = {}, {}, {}, {}

-- What a call has to say that has opened no lane.
local NOTHING = { waiting = {}, changed = {} }

-- Who waits now and who does not; and those who follow in their lanes, unless they have come back since.
local function write_waiting(q, scores)
  local count_in, count_out = 0, 0
  if scores == NOTHING.waiting then
    put_out(write.remove, q.lane_waiting, handovers.followers, q.followed_count)
    return
  end
  for id, score in pairs(scores) do
    if score then
      waiting[count_in + 1], waiting[count_in + 2] = score, id
      count_in = count_in + 2
    else
      count_out = count_out + 1
      gone[count_out] = id
    end
  end
  local followers = handovers.followers
  for i = 1, q.followed_count do
    if not scores[followers[i]] then
      count_out = count_out + 1
      gone[count_out] = followers[i]
    end
  end
  if count_in > 0 then
    put_out(write.add, q.lane_waiting, waiting, count_in)
  end
  if count_out > 0 then
    put_out(write.remove, q.lane_waiting, gone, count_out)
  end
end

-- One that cannot be read stays listed, for the upkeep, and keeps the others from nothing.
local function is_alive(q, lane)
  if #lane_state.out(lane) > 0 or lane_state.is_blocked(lane) then
    return true
  end
  local is_read, depth = pcall(lane_state.depth, q, lane)
  return not is_read or depth > 0
end

local function write_lanes(q, changed)
  local count_out, count_none, count_listed, count_ended = 0, 0, 0, 0
  local names, next_of = handovers.names, handovers.of(q)
  -- Only numbers stand in lines.
  local are_numbers = q.handed_count > 0 and not lane_rules.of(q).uses_sorted
  for i = 1, q.handed_count do
    local name = names[i]
    local id = next_of[name]
    if id then
      out[count_out + 1], out[count_out + 2] = name, are_numbers and id or lane_out.text_of({ id })
      count_out = count_out + 2
    elseif id == false then
      count_none, count_ended = count_none + 1, count_ended + 1
      none_out[count_none], ended[count_ended] = name, name
    end
  end
  for lane in pairs(changed) do
    if lane.has_new_out then
      lane.has_new_out = false
      if #lane.out > 0 then
        out[count_out + 1], out[count_out + 2] = lane.name, lane_out.text_of(lane.out)
        count_out = count_out + 2
      else
        count_none = count_none + 1
        none_out[count_none] = lane.name
      end
    end
    if not is_alive(q, lane) then
      lane.is_listed = false
      count_ended = count_ended + 1
      ended[count_ended] = lane.name
    elseif not lane.is_listed then
      lane.is_listed = true
      listed[count_listed + 1], listed[count_listed + 2] = "0", lane.name
      count_listed = count_listed + 2
    end
  end
  if count_out > 0 then
    put_out(write.set, q.lane_out, out, count_out)
  end
  if count_listed > 0 then
    put_out(write.add, q.lanes, listed, count_listed)
  end
  if count_none + count_ended > 0 then
    -- Perhaps the last ones, and with them the hash and its index.
    q.lane_out_kept = false
    put_out(write.unset, q.lane_out, none_out, count_none)
    put_out(write.remove, q.lanes, ended, count_ended)
    if lane_rules.of(q).uses_held then
      put_out(write.remove, q.lane_held, ended, count_ended)
    end
  end
end

-- Settle of the whole call: writes down who is out, who waits, and which lanes there are. A lane with nobody left,
-- neither out nor resting, leaves nothing behind; one that is stopped stays listed, or nobody would find it.
function lane_writing.flush(q)
  local kept = q.lane_books or NOTHING
  lane_writing.push_all(q)
  write_waiting(q, kept.waiting)
  write_lanes(q, kept.changed)
  q.lane_books, q.handed_count, q.followed_count, q.shown_count = false, 0, 0, 0
end

return lane_writing
