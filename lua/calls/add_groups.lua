--- add_groups: adds groups, each on its own
--- A group is `add_group`, then its mappings, then two items for each member: `member` and how it is added.
--- @flags  refuses-when-full
--- @item   mapping       name string, tail bytes, opts bytes, on_failed flag
--- @item   member        root string, mapping int, head bytes
--- @items  add_group | add | add_in_lane
--- @reply  of each group a list: its word and what comes with it
local add_group = require("transitions.add_group")
local items = require("lib.items")

local function copy(arg)
  local own = {}
  for name, value in pairs(arg) do
    own[name] = value
  end
  return own
end

-- What follows a group's own item, up to the next group; where that begins. Readers reuse their table.
local function read_parts(batch, at)
  local mappings, members = {}, {}
  local argv, readers = batch.argv, batch.readers
  local last = #argv
  while at <= last and argv[at] ~= "add_group" do
    local verb = argv[at]
    local arg, following = readers[verb](argv, at)
    if verb == "mapping" then
      mappings[#mappings + 1] = cmsgpack.pack({ arg.name, arg.tail, arg.opts, arg.on_failed })
    elseif verb == "member" then
      members[#members + 1] = { root = arg.root, mapping = arg.mapping, head = arg.head }
    else
      members[#members].add = copy(arg)
    end
    at = following
  end
  return mappings, members, at
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
    local argv, at = batch.argv, batch.first
    while at <= #argv do
      local arg, parts = batch.readers.add_group(argv, at)
      arg.mappings, arg.members, at = read_parts(batch, parts)
      local is_done, word, value = pcall(add_group, home, arg)
      if not is_done then
        word, value = "error", items.message(word)
      end
      outcome[#outcome + 1] = told(word, value)
    end
    return items.text(outcome)
  end,
  render = items.as_is,
}
