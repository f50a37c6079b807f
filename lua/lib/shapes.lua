-- Check: the keys that a transition is about to write hold what they should. Found only at the write, a wrong
-- type would leave half a change behind. Each key is asked for once per call, however many items it has.

local shapes = {}

local OF = {
  active = "list",
  completed = "zset",
  counter = "string",
  delayed = "zset",
  events = "stream",
  failed = "zset",
  lane_delayed = "zset",
  lane_held = "zset",
  lane_out = "hash",
  lane_settings = "hash",
  lane_waiting = "zset",
  lanes = "zset",
  limiter = "string",
  paused = "list",
  prioritized = "zset",
  priority_counter = "string",
  schedules = "zset",
  stalled = "set",
  wait = "list",
  waiting_children = "zset",
}

-- Each fails where its key holds something of another shape.
local SIZE = {
  hash = function(key) return call("HLEN", key) end,
  list = function(key) return call("LLEN", key) end,
  set = function(key) return call("SCARD", key) end,
  stream = function(key) return call("XLEN", key) end,
  string = function(key) return call("STRLEN", key) end,
  zset = function(key) return call("ZCARD", key) end,
}

-- Everything that a job can lie in.
shapes.places = { "wait", "paused", "active", "prioritized", "delayed", "waiting_children", "completed", "failed" }

local function known(q)
  local table = q.known_shapes
  if not table then
    table = {}
    q.known_shapes = table
  end
  return table
end

-- One key by its full name.
function shapes.expect(q, key, shape)
  local seen = known(q)
  if seen[key] then
    return
  end
  -- A number is read quicker than a word. Where the key holds something else, the word says what.
  local is_fine, err = pcall(SIZE[shape], key)
  if is_fine then
    seen[key] = true
    return
  end
  local found = call("TYPE", key).ok
  if found ~= "none" and found ~= shape then
    error("WRONGTYPE " .. key .. " holds a " .. found .. " where a " .. shape .. " belongs", 0)
  end
  error(err, 0)
end

-- A key of the queue by its name in our code.
function shapes.check_one(q, name)
  local key, seen = q[name], q.known_shapes
  if not seen or not seen[key] then
    shapes.expect(q, key, OF[name])
  end
end

function shapes.check(q, ...)
  for i = 1, select("#", ...) do
    shapes.check_one(q, (select(i, ...)))
  end
end

-- A counter: a string of digits, or nothing yet.
function shapes.check_number(q, name)
  local seen = known(q)
  if seen[q[name]] then
    return
  end
  local value = call("GET", q[name])
  if value and not string.match(value, "^%-?%d+$") then
    error("WRONGTYPE " .. q[name] .. " holds no whole number", 0)
  end
  seen[q[name]] = true
end

function shapes.is_wrong_type(err)
  local text = type(err) == "table" and err.err or tostring(err)
  return string.find(text, "WRONGTYPE", 1, true) ~= nil
end

return shapes
