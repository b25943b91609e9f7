-- KEYS[1]: an IP address. ARGV: time in microseconds (below 0: the server's), worker, delay, how long a claim holds, and
-- 1 where the worker goes on with a visit: the delay after its own last fetch is then for others alone.
-- Returns 0 when the IP address was claimed, else in how many microseconds it is to be asked for again.
--
-- Of an IP address is kept: its worker and that worker's fetches (`out`), until when these hold, when the next may begin
-- (`opens`, at most `delay` from now), and how many have been sent away since (`behind`).
local call = redis.call
local now, worker, delay, seconds = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if now < 0 then
  local time = call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local goes_on = ARGV[5] == '1'
local LONGEST_LINE, SOONEST = 32, 100000

local kept = call('HMGET', KEYS[1], 'worker', 'out', 'until', 'opens', 'delay', 'behind')
local out, ends, opens = tonumber(kept[2] or 0), tonumber(kept[3] or 0), tonumber(kept[4] or 0)
local kept_delay, behind = tonumber(kept[5] or 0), tonumber(kept[6] or 0)
-- A clock that was set back would keep an IP address for as long as it was set back by.
opens = math.min(opens, now + kept_delay)
if ends <= now or ends > now + 2 * seconds then out = 0 end

local wait = opens - now
if goes_on and kept[1] == worker then wait = 0 end
if out > 0 and kept[1] ~= worker then wait = math.max(wait, delay, SOONEST) end
if wait > 0 then
  behind = math.min(behind + 1, LONGEST_LINE)
  call('HSET', KEYS[1], 'opens', string.format('%.0f', opens), 'behind', behind)
  return string.format('%.0f', wait + (behind - 1) * delay)
end
if opens + delay <= now then behind = 1 end
ends = now + seconds
-- What is left of a longer delay goes on; there is none where the worker had to wait for it.
local longest = opens > now + delay and kept_delay or delay
opens = math.max(opens, now + delay)
call('HSET', KEYS[1], 'worker', worker, 'out', out + 1, 'until', string.format('%.0f', ends),
  'opens', string.format('%.0f', opens), 'delay', string.format('%.0f', longest), 'behind', math.max(behind - 1, 0))
call('PEXPIRE', KEYS[1], math.ceil((math.max(ends, opens) - now) / 1000))
return 0
