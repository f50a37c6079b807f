-- New jobs that rest behind another one of their lane, as nearly all do where lanes are full: many of them are added
-- without opening a lane. All others enter by lanes.lua.

local clock = require("lib.clock")
local lane_out = require("lib.lane_out")
local lane_rest = require("lib.lane_rest")
local lane_rules = require("lib.lane_rules")
local lane_state = require("lib.lane_state")
local queue = require("lib.queue")

local lane_arrivals = {}

-- Of their lanes, by the number of the item: who is out (false for nobody), as `lane_arrivals.look` has read it.
local seen_out = {}

-- Check: reads who is out of the lanes from `names[first]` on.
function lane_arrivals.look(q, names, first, last)
  if not lane_rules.of(q).hands_over then
    return
  end
  lane_state.check_keys(q)
  local texts = lane_out.texts(q, names, first, last)
  for i = first, last do
    seen_out[i] = texts[i - first + 1]
  end
end

-- Check: behind how many of them, from the first on, one is out whom this call has nothing else to do with: a new job
-- rests there, and nothing else happens. None where nothing tells that the queue has lanes: whoever opens one says so.
function lane_arrivals.count(q, names, first, last)
  if not queue.settings(q).lanes or not lane_rules.of(q).hands_over then
    return 0
  end
  local count = lane_state.count_untouched(q, names, first, last)
  for i = 1, count do
    if not seen_out[first + i - 1] then
      return i - 1
    end
  end
  return count
end

-- Write: a new job rests there, behind all whose place is before now. An error has written nothing.
function lane_arrivals.rest(q, name, id, number)
  lane_rest.append(q, name, id, number)
  lane_state.set_waiting(q, id, q.now_text)
end

-- Write: the same undone.
function lane_arrivals.forget(q, name, id, number)
  lane_rest.remove(q, name, { id = id, sequence = clock.text(number) }, true)
  lane_state.set_waiting(q, id, nil)
end

return lane_arrivals
