--- add_groups: adds groups, each on its own
--- A group is `add_group`, then its mappings, then two items for each member: `member` and how it is added.
--- @flags  refuses-when-full
--- @item   mapping       name string, tail bytes, opts bytes, on_failed flag
--- @item   member        root string, mapping int=0, head bytes=
--- @items  add_group | add | add_in_lane
--- @reply  of each group a list: its word and what comes with it
local add_group = require("transitions.add_group")
local batch_adds = require("lib.batch_adds")
local items = require("lib.items")
local queue = require("lib.queue")

-- The verbs by what they mean, whole and short. Reading an item to find out would fill the table of the one before it.
local BEGINS_GROUP = { ["add_group"] = true, ["add_group-"] = true }
local IS_MEMBER = { ["member"] = true, ["member-"] = true }

-- What follows a group's own item, up to the next group; where that begins. How a member is added is not kept, only
-- where it stands: reading it twice costs less than a copy. So none is sent as a repetition of the one before it.
local function read_parts(batch, at)
  local mappings, members = {}, {}
  local argv, readers, lengths = batch.argv, batch.readers, batch.lengths
  local last = #argv
  while at <= last and not BEGINS_GROUP[argv[at]] do
    local verb = argv[at]
    local arg, following = readers[verb](argv, at)
    if IS_MEMBER[verb] then
      members[#members + 1] =
        { root = arg.root, mapping = arg.mapping, head = arg.head, add_at = following, q = false, timestamp = false, score = false }
      following = following + lengths[argv[following]]
    else
      mappings[#mappings + 1] = cmsgpack.pack({ arg.name, arg.tail, arg.opts, arg.on_failed })
    end
    at = following
  end
  return mappings, members, at
end

-- The queues of all members, each with how many may be added to it: they are numbered and put into `wait` together.
local function open_queues(home, batch)
  local argv, at, lengths = batch.argv, batch.first, batch.lengths
  local counts, queues, last = {}, {}, #argv
  while at <= last do
    local verb = argv[at]
    if IS_MEMBER[verb] then
      local root = argv[at + 1]
      counts[root] = (counts[root] or 0) + 1
    end
    at = at + lengths[verb]
  end
  for root, count in pairs(counts) do
    local p = queue.other(home, root)
    queues[#queues + 1] = p
    batch_adds.open(p, count)
  end
  return queues
end

local function told(word, value)
  if type(value) ~= "table" then
    return { word, value }
  end
  table.insert(value, 1, word)
  return value
end

return {
  run = function(home, _, batch)
    local outcome = {}
    local queues = open_queues(home, batch)
    local argv, readers, at = batch.argv, batch.readers, batch.first
    local function read_add(member)
      local arg = readers[argv[member.add_at]](argv, member.add_at)
      return arg
    end
    while at <= #argv do
      local arg, parts = readers[argv[at]](argv, at)
      arg.read_add = read_add
      arg.mappings, arg.members, at = read_parts(batch, parts)
      local is_done, word, value = pcall(add_group, home, arg)
      if not is_done then
        word, value = "error", items.message(word)
      end
      outcome[#outcome + 1] = told(word, value)
    end
    for i = 1, #queues do
      batch_adds.flush(queues[i])
    end
    return items.text(outcome)
  end,
  render = items.as_is,
}
