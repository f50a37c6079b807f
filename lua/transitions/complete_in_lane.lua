--- complete_in_lane: active -> completed
--- As `complete`, for a job that had never begun and was seen to be tied to its lane and nothing else: the next of the lane goes.
--- @arg   job_id      string
--- @arg   lane        string
--- @arg   token       string
--- @arg   result      bytes
--- @arg   field_count string   how many fields its record has since it was claimed
--- @arg   keep_count  string=  how many completed jobs to keep; empty for all, 0 erases this one
--- @arg   keep_age    string=  seconds to keep a completed job; empty for ever
--- @arg   keep_limit  string=  how many old ones to delete at most; empty for the default
--- @again job_id lane
--- @reply ok | not_found | lease_missing | lease_lost | not_in_state | pending_children | failed_children
local lanes = require("lib.lanes")
local plain_ends = require("lib.plain_ends")
local complete = require("transitions.complete")

-- The lanes of the items of one run, in their order; kept from call to call, only as many as are counted belong to this.
local names = {}

-- Those behind the first say no more than their job and their lane.
local function read_names(q, arg, count)
  local argv, at = q.argv, q.behind + 2
  names[1] = arg.lane
  for i = 2, count do
    names[i], at = argv[at], at + 2
  end
end

return function(q, arg)
  -- check
  local count = plain_ends.count(q, arg)
  if count == 0 then
    return complete(q, arg)
  end
  read_names(q, arg, count)
  local handed_over = lanes.check_hand_over(q, names, q.firsts, q.item, count)
  if handed_over > 0 then
    return plain_ends.complete_and_hand_over(q, arg, handed_over, names)
  end
  lanes.check_end(q, arg.lane)
  return plain_ends.complete(q, arg, 1, arg.lane)
end
