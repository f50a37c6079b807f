-- Server time in milliseconds, or the time that the caller hands in (tests, people who fake timers).
-- TIME is not frozen within a call, so it is read once, by the generated prologue.

local clock = {}

function clock.now(given)
  if given and given ~= "" then
    return tonumber(given)
  end
  local time = call("TIME")
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Whole numbers as plain digits: some servers print a Lua number such as 3e8 in exponent form.
-- tostring does that up to fourteen digits and is quicker. A number handed to a command costs twice a string.
function clock.text(number)
  if number < 1e14 and number > -1e14 then
    return tostring(number)
  end
  return string.format("%.0f", number)
end

return clock
