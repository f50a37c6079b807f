-- Runs the items of a batch one after another, each on its own: an error in one refuses that one only.

local items = {}

function items.message(err)
  return type(err) == "table" and (err.err or "unknown error") or tostring(err)
end

-- The words and values of all items, flat: word, value, word, value … `batch` is what the build hands over: the
-- arguments, where the items begin, and for each verb a reader that fills one table again and again, so that a
-- batch leaves little garbage. A transition must not keep its `arg`.
function items.run(q, batch, transitions)
  local argv, at, readers = batch.argv, batch.first, batch.readers
  local outcome, count, last = {}, 0, #argv
  while at <= last do
    local verb = argv[at]
    local arg, following = readers[verb](argv, at)
    local is_done, word, value = pcall(transitions[verb], q, arg)
    if not is_done then
      word, value = "error", items.message(word)
    end
    outcome[count + 1] = word
    outcome[count + 2] = value and tostring(value) or ""
    count, at = count + 2, following
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
