--- list: jobs of the states asked for; an id without a record is passed over and the page is filled up
--- @arg    first          int
--- @arg    last           int
--- @arg    is_ascending   flag
--- @rest   states
--- @reply  for each state: id, record, id, record …
local collections = require("lib.collections")
local jobs = require("lib.jobs")

-- How often a page with holes is read on.
local ROUNDS = 5

local function read_page(q, arg, state)
  local page, found = {}, 0
  local first, last = arg.first, arg.last
  local is_bounded = first >= 0 and last >= 0
  local wanted = last - first + 1
  for _ = 1, ROUNDS do
    local ids = collections.range(q, state, first, last, arg.is_ascending)
    for _, id in ipairs(ids) do
      local flat = jobs.read(q, id)
      if flat then
        page[#page + 1], page[#page + 2] = id, flat
        found = found + 1
      end
    end
    if not is_bounded or found >= wanted or #ids < last - first + 1 then
      break
    end
    first, last = last + 1, last + wanted - found
  end
  return page
end

return function(q, arg, states)
  local pages = {}
  for i, state in ipairs(states) do
    pages[i] = read_page(q, arg, state)
  end
  return pages
end
