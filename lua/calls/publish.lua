--- publish: appends an event of the user's own to the queue's stream
--- @flags  refuses-when-full
--- @arg    max_events   string   about how many entries the stream keeps
--- @rest   fields
--- @reply  nothing
local items = require("lib.items")

return {
  run = function(q, arg, fields)
    call("XADD", q.events, "MAXLEN", "~", arg.max_events, "*", unpack(fields))
    return {}
  end,
  render = items.as_is,
}
