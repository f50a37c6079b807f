-- Lanes that a call hands over from the one job that was out to the next, without opening them: so nearly every job of a
-- lane ends. They are kept apart from those that were opened, as lists, because a batch has up to a hundred of them.
--
-- The lists are kept from call to call: to fill them costs less than to make them. Only as many as are counted belong to
-- this call (`q.handed_count`, `q.followed_count`), and to one queue: a call ends jobs of the queue that it is made for.

local handovers = {}

-- The lanes in their order, and by its name who is out of a lane now; false for nobody.
local names, next_of = {}, {}
-- The jobs that have left their rest, in the order in which they go: they follow those that have ended. Beside each its
-- lane.
local followers, follower_lanes = {}, {}
-- How many lanes the last call has left behind.
local left_behind = 0
local NONE = {}

handovers.names, handovers.followers, handovers.follower_lanes = names, followers, follower_lanes

-- Who is out of the lanes that this call has handed over, by name; false for nobody, nil for other lanes. To be asked for
-- anew after whatever may hand over.
function handovers.of(q)
  return q.handed_count > 0 and next_of or NONE
end

-- What the last call has left behind is nobody's any more.
local function begin()
  for i = 1, left_behind do
    next_of[names[i]] = nil
  end
end

-- The lane has this job out now, or (false) nobody and nothing left. No lane twice in a call, unless it was forgotten.
function handovers.note(q, name, id)
  local count = q.handed_count
  if count == 0 then
    begin()
  end
  count = count + 1
  names[count], next_of[name] = name, id
  q.handed_count, left_behind = count, count
end

-- The same of many lanes at once, and those that are out now follow.
function handovers.note_all(q, lanes, ids, count)
  local noted, followed = q.handed_count, q.followed_count
  if noted == 0 then
    begin()
  end
  for i = 1, count do
    local name, id = lanes[i], ids[i]
    names[noted + i], next_of[name] = name, id
    if id then
      followed = followed + 1
      followers[followed], follower_lanes[followed] = id, name
    end
  end
  q.lanes_moved_on = q.lanes_moved_on + followed - q.followed_count
  q.handed_count, left_behind, q.followed_count = noted + count, noted + count, followed
end

-- Which of the lanes has this job out now.
function handovers.lane_of(q, id)
  for i = 1, q.handed_count do
    if next_of[names[i]] == id then
      return names[i]
    end
  end
  return nil
end

-- The lane has another out now, which follows; or (false) nobody.
function handovers.change(q, name, id)
  next_of[name] = id
  if id then
    local count = q.followed_count + 1
    followers[count], follower_lanes[count], q.followed_count = id, name, count
  end
end

-- Numbers from this one on that are nobody's are given to those behind them; the last one.
function handovers.close_up(q, first)
  local last = first - 1
  for i = first, q.followed_count do
    if followers[i] then
      last = last + 1
      followers[last], follower_lanes[last] = followers[i], follower_lanes[i]
    end
  end
  q.followed_count = last
  return last
end

-- The lane is opened: what is to be written of it is written with the others that were.
function handovers.forget(q, name)
  if q.handed_count > 0 then
    next_of[name] = nil
  end
end

return handovers
