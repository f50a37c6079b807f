-- Those who follow in lanes that a call hands over: they have left their rest and are not in the ready order yet. A fetch of
-- the same call takes them as they are, once it has taken what was ready before; whoever is left is put there when it is
-- over. Somebody who knows nothing of lanes may have removed one of them: it has no record, and the next of its lane
-- follows in its place.

local handovers = require("lib.lane_handovers")
local keys = require("lib.keys")
local lane_rest = require("lib.lane_rest")
local lane_state = require("lib.lane_state")

local lane_followers = {}

-- Ids without a record that one lane may pass over in a call; the rest is left to its upkeep.
lane_followers.most_ghosts = 1000

local ids = handovers.followers
lane_followers.ids = ids

-- Kept from call to call, only as many as are counted belong to this one.
local records = {}

-- Those that are in nobody's hands, from the first number to the second.
function lane_followers.left(q)
  return q.shown_count + 1, q.followed_count
end

local function has_record(q, id)
  return call("EXISTS", keys.job(q, id)) == 1
end

-- Settle: this one has no record; the next of its lane that has one follows, or nobody.
function lane_followers.pass_over(q, ghost)
  local name = handovers.lane_of(q, ghost)
  -- Opened since: the upkeep finds who is out of it.
  for _ = 1, name and lane_followers.most_ghosts or 0 do
    lane_state.set_waiting(q, ghost, false)
    local id = lane_rest.pop(q, name) or false
    if not id or has_record(q, id) then
      handovers.change(q, name, id)
      return
    end
    ghost = id
  end
  if name then
    -- Nobody is out and perhaps some rest: opened, the lane stays listed, and its upkeep goes on with it.
    handovers.change(q, name, false)
    lane_state.open(q, name)
  end
end

local function have_records(q, first, last)
  local prefix, count = keys.job(q, ""), 0
  for i = first, last do
    count = count + 1
    records[count] = prefix .. ids[i]
  end
  return call("EXISTS", unpack(records, 1, count)) == count
end

-- Settle: those that are left go into the ready order, through `push` (the list, the first and the last number).
function lane_followers.show(q, push)
  local first, last = lane_followers.left(q)
  if last < first then
    return
  end
  if not have_records(q, first, last) then
    for i = first, last do
      if not has_record(q, ids[i]) then
        lane_followers.pass_over(q, ids[i])
        ids[i] = false
      end
    end
    last = handovers.close_up(q, first)
  end
  q.shown_count = last
  push(q, ids, first, last)
end

return lane_followers
