-- Server time in milliseconds, or the time that the caller hands in (tests, people who fake timers).
-- TIME is not frozen within a call, so it is read once, by the generated prologue.

local clock = {}

-- Microseconds come without leading zeros.
local LEADING = { [1] = "00000", [2] = "0000", [3] = "000", [4] = "00", [5] = "0", [6] = "" }

-- As a number and as text. The text is glued together: printing a number takes longer than asking for it.
function clock.now(given)
  if given and given ~= "" then
    local number = tonumber(given)
    return number, string.format("%.0f", number)
  end
  local time = call("TIME")
  local micros = time[2]
  local text = time[1] .. string.sub(LEADING[#micros] .. micros, 1, 3)
  return tonumber(text), text
end

-- Counts of attempts and the like are printed once, and read once.
local SMALL = { [0] = "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" }
local NUMBER = {}
local MOST_SMALL = 1000

-- How whole numbers up to this one are printed: as 32 bits it takes half the time, and some builds have no longer ones.
function clock.digits(highest)
  return highest < 2147483648 and "%d" or "%.0f"
end

-- Whole numbers as plain digits: some servers print a Lua number such as 3e8 in exponent form.
-- tostring does that up to fourteen digits and is quicker. A number handed to a command costs twice a string.
function clock.text(number)
  local small = SMALL[number]
  if small then
    return small
  end
  if number < 2147483648 and number > -2147483648 and number % 1 == 0 then
    local text = string.format("%d", number)
    if number < MOST_SMALL and number > -MOST_SMALL then
      SMALL[number] = text
    end
    return text
  end
  if number < 1e14 and number > -1e14 then
    return tostring(number)
  end
  return string.format("%.0f", number)
end

-- The number that a text says; nil where it says none.
function clock.number(text)
  local number = NUMBER[text]
  if not number then
    number = tonumber(text)
    if number and number < MOST_SMALL and number >= 0 and number % 1 == 0 and #text < 4 then
      NUMBER[text] = number
    end
  end
  return number
end

return clock
