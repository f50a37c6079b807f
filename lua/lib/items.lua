-- Runs the items of a batch one after another, each on its own: an error in one refuses that one only.

local items = {}

local function message(err)
  return type(err) == "table" and (err.err or "unknown error") or tostring(err)
end

-- The words and values of all items, flat: word, value, word, value …
function items.run(q, list, transitions)
  local outcome = {}
  for i = 1, #list do
    local item = list[i]
    local is_done, word, value = pcall(transitions[item.verb], q, item.arg)
    if not is_done then
      word, value = "error", message(word)
    end
    outcome[2 * i - 1] = word
    outcome[2 * i] = value and tostring(value) or ""
  end
  return outcome
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
