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
--- @reply  nothing where it was accepted; else the word and the value of its refusal
local batch_ends = require("lib.batch_ends")
local emptiness = require("lib.emptiness")
local items = require("lib.items")
local retention = require("lib.retention")
local complete = require("transitions.complete")
local complete_in_lane = require("transitions.complete_in_lane")

-- The first arguments of a batch of one; kept from call to call.
local firsts = {}

local function refusal(word, value)
  return cjson.encode({ word, value and tostring(value) or "" })
end

local function run(q, arg)
  firsts[1], q.firsts, q.item = arg.job_id, firsts, 1
  batch_ends.look(q, firsts, 1)
  local transition = arg.lane == "" and complete or complete_in_lane
  local is_done, word, value = pcall(transition, q, arg)
  if q.retention_asked then
    pcall(retention.apply, q)
  end
  -- What keeps it from being told is told by the next fetch.
  pcall(emptiness.tell, q)
  if not is_done then
    return refusal("error", items.message(word))
  end
  return word == "ok" and "" or refusal(word, value)
end

return { run = run, render = items.as_is }
