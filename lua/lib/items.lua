-- Runs the items of a batch one after another, each on its own: an error in one refuses that one only.

local items = {}

function items.message(err)
  return type(err) == "table" and (err.err or "unknown error") or tostring(err)
end

-- `batch` is what the build hands over: the arguments, where the items begin, and for each verb a reader that fills
-- one table again and again, so that a batch leaves little garbage. A transition must not keep its `arg`.
local function run_each(q, batch, transitions, told)
  local argv, at, readers = batch.argv, batch.first, batch.readers
  local number, last = 0, #argv
  while at <= last do
    local verb = argv[at]
    local arg, following, whole_verb = readers[verb](argv, at)
    local is_done, word, value = pcall(transitions[whole_verb or verb], q, arg)
    if not is_done then
      word, value = "error", items.message(word)
    end
    number, at = number + 1, following
    told(number, word, value and tostring(value) or "")
  end
end

-- A list of texts, and of lists of them, as JSON. A client takes one long text apart quicker than a reply of many
-- short ones. Payloads are texts here and stay what they are.
function items.text(list)
  return #list > 0 and cjson.encode(list) or "[]"
end

-- The words and values of all items, flat: word, value, word, value … as one text.
function items.run(q, batch, transitions)
  local outcome = {}
  run_each(q, batch, transitions, function(number, word, value)
    outcome[2 * number - 1], outcome[2 * number] = word, value
  end)
  return items.text(outcome)
end

-- Only those whose word is not `ok`, flat: number, word, value … Numbers count from 0 and are text.
function items.refused(q, batch, transitions)
  local refused = {}
  run_each(q, batch, transitions, function(number, word, value)
    if word ~= "ok" then
      local count = #refused
      refused[count + 1], refused[count + 2], refused[count + 3] = tostring(number - 1), word, value
    end
  end)
  return refused
end

-- A call of one transition.
function items.single(transition)
  return {
    run = function(q, arg)
      local word, value = transition(q, arg)
      return { word, value and tostring(value) or "" }
    end,
    render = items.as_is,
  }
end

function items.as_is(_, outcome)
  return outcome
end

return items
