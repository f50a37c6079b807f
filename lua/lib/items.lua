-- Runs the items of a batch one after another, each on its own: an error in one refuses that one only.

local clock = require("lib.clock")

local items = {}

function items.message(err)
  return type(err) == "table" and (err.err or "unknown error") or tostring(err)
end

-- `batch` is what the build hands over: the arguments, where the items begin, and for each verb a reader that fills
-- one table again and again, so that a batch leaves little garbage. A transition must neither keep nor change its
-- `arg`. Answers with what the transition answers.
--
-- A transition is told which item it runs (`q.item`, from 1), how many are alike from there on (`q.run`) and what stands
-- before the arguments of the second of them (`q.behind`, in `q.argv`). It may do several of them at once: then it says how
-- many, behind its word and value, and keeps `q.item` at the one that it is about to write, which is the one to blame for an
-- error.
local function run_at(q, argv, readers, transitions, verb, at)
  local arg, _, whole_verb = readers[verb](argv, at)
  local is_done, word, value, count = pcall(transitions[whole_verb or verb], q, arg)
  if not is_done then
    return "error", items.message(word)
  end
  return word, value, count
end

-- Items that differ from the one before them in nothing but what their shortest form says are sent as that form's verb, how
-- many they are, and then the arguments of each. With the one before them they are a run, whose length is kept by the number
-- of its first. Filled by one call after the other, as the readers' tables are: only as many as are counted belong to this.
local firsts, runs = {}, {}
local item_count = 0

-- The first argument of every item, and how many there are. Those of a run that come after its first item have no other,
-- so that a transition finds them here (`q.firsts`), by the number of the item.
function items.firsts(q, batch)
  local argv, at, lengths, again_of = batch.argv, batch.first, batch.lengths, batch.again
  local list, count, last = firsts, 0, #argv
  while at <= last do
    local verb, from = argv[at], count
    local again = again_of[verb]
    if verb ~= again then
      count = count + 1
      list[count] = argv[at + 1]
      at = at + lengths[verb]
    end
    if again and argv[at] == again then
      local length, first = lengths[again], count + 1
      count = count + clock.number(argv[at + 1])
      at = at + 2
      for number = first, count do
        list[number] = argv[at]
        at = at + length
      end
    end
    runs[from + 1] = count - from
  end
  q.firsts, item_count = list, count
  return list, count
end

-- A run begins there: how long it is, how far apart those are that have the short form, and what stands before the arguments
-- of its first item (as its verb does, where it is whole) and of its second. Of an item that is alone the latter is what it
-- ends with.
local function begin_run(batch, verb, at, number)
  local lengths, again, run = batch.lengths, batch.again[verb], runs[number]
  if verb == again then
    local length = lengths[again]
    return run, length, at + 1, at + 1 + length
  elseif run == 1 then
    return 1, 0, at, at + lengths[verb] - 1
  end
  return run, lengths[again], at, at + lengths[verb] + 1
end

-- A list of texts, and of lists of them, as JSON. A client takes one long text apart quicker than a reply of many
-- short ones. Payloads are texts here and stay what they are.
function items.text(list)
  return #list > 0 and cjson.encode(list) or "[]"
end

-- An outcome that is one row of numbers, as it mostly is.
local function text_of_numbered(first, numbered)
  return '["numbered","' .. clock.text(first) .. '","' .. clock.text(numbered) .. '"]'
end

local function tell_numbered(outcome, first, numbered)
  if numbered > 0 then
    local count = #outcome
    outcome[count + 1], outcome[count + 2], outcome[count + 3] = "numbered", clock.text(first), clock.text(numbered)
  end
end

-- The words and values of all items, flat: word, value, word, value … as one text. Those that were numbered one after
-- the other are told together: `numbered`, the first number, how many. After `items.firsts`.
function items.run(q, batch, transitions)
  local argv, readers, again_of = batch.argv, batch.readers, batch.again
  local outcome, number, at = {}, 1, batch.first
  local first, numbered, run, length, behind, verb = 0, 0, 0, 0, 0, nil
  q.argv = argv
  while number <= item_count do
    if run > 0 then
      verb, behind = again_of[verb], at + length
    else
      verb = argv[at]
      run, length, at, behind = begin_run(batch, verb, at, number)
    end
    q.item, q.run, q.behind = number, run, behind
    local word, value, done = run_at(q, argv, readers, transitions, verb, at)
    local is_numbered = word == "numbered"
    done = is_numbered and (done or 1) or q.item - number
    if done > 0 then
      local from = is_numbered and value or q.first_number
      if numbered > 0 and from == first + numbered then
        numbered = numbered + done
      else
        tell_numbered(outcome, first, numbered)
        first, numbered = from, done
      end
    end
    if not is_numbered then
      tell_numbered(outcome, first, numbered)
      local count = #outcome
      outcome[count + 1], outcome[count + 2], numbered = word, value and tostring(value) or "", 0
      done = done + 1
    end
    number, run = number + done, run - done
    at = behind + length * (done - 1) + (run == 0 and 1 or 0)
  end
  if numbered > 0 and #outcome == 0 then
    return text_of_numbered(first, numbered)
  end
  tell_numbered(outcome, first, numbered)
  return items.text(outcome)
end

-- Only those whose word is not `ok`, flat: number, word, value … Numbers count from 0 and are text. After `items.firsts`.
function items.refused(q, batch, transitions)
  local argv, readers, again_of = batch.argv, batch.readers, batch.again
  local refused, number, at, run, length, behind, verb = {}, 1, batch.first, 0, 0, 0, nil
  q.argv = argv
  while number <= item_count do
    if run > 0 then
      verb, behind = again_of[verb], at + length
    else
      verb = argv[at]
      run, length, at, behind = begin_run(batch, verb, at, number)
    end
    q.item, q.run, q.behind = number, run, behind
    local word, value, done = run_at(q, argv, readers, transitions, verb, at)
    if word ~= "ok" then
      done = q.item - number + 1
      local count = #refused
      refused[count + 1], refused[count + 2], refused[count + 3] = tostring(q.item - 1), word, value and tostring(value) or ""
    end
    done = done or 1
    number, run = number + done, run - done
    at = behind + length * (done - 1) + (run == 0 and 1 or 0)
  end
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
