--- complete_one: a worker that runs one job at a time, and has the next in its hands, hands in that one is completed
--- What `exchange` does with a single completion and no fetch, without what it takes to handle many: so short a call is
--- mostly made of that.
--- @arg    job_id       string
--- @arg    lane         string   of a job that was seen to be tied to nothing else; empty for any other
--- @arg    token        string
--- @arg    result       bytes
--- @arg    field_count  string   as of `complete`
--- @arg    keep_count   string
--- @arg    keep_age     string
--- @arg    keep_limit   string
--- @arg    holds_others flag     the worker has more jobs in its hands: this is not the last one of the queue
--- @reply  nothing where it was accepted; else the word and the value of its refusal
local batch_ends = require("lib.batch_ends")
local emptiness = require("lib.emptiness")
local items = require("lib.items")
local plain_ends = require("lib.plain_ends")
local retention = require("lib.retention")
local complete = require("transitions.complete")
local complete_in_lane = require("transitions.complete_in_lane")

-- The first arguments of a batch of one; kept from call to call.
local firsts = {}

-- What is told of a transition that ran: nothing of one that was accepted.
local function told(q, arg, is_done, word, value)
  if q.retention_asked then
    pcall(retention.apply, q)
  end
  if not arg.holds_others then
    -- What keeps this from being told is told by the next fetch.
    pcall(emptiness.tell, q)
  end
  if is_done and word == "ok" then
    return ""
  elseif not is_done then
    word, value = "error", items.message(word)
  end
  return cjson.encode({ word, value and tostring(value) or "" })
end

-- Nearly always the job is tied to nothing, and what others know of it is all there is to change. Those that retention
-- erases may be tied to something.
local function briefly(q, arg)
  firsts[1], q.firsts, q.item = arg.job_id, firsts, 1
  batch_ends.look(q, firsts, 1)
  if arg.lane == "" and arg.keep_count == "" and arg.keep_age == "" and plain_ends.count(q, arg) == 1 then
    return told(q, arg, pcall(complete, q, arg, 1))
  end
  return nil
end

local function run(q, arg)
  return told(q, arg, pcall(arg.lane == "" and complete or complete_in_lane, q, arg))
end

return { briefly = briefly, run = run, render = items.as_is }
