-- KEYS[1]: an IP address. ARGV: time in microseconds (below 0: the server's), worker, and how long its claims hold from now.
local call = redis.call
local now, seconds = tonumber(ARGV[1]), tonumber(ARGV[3])
if now < 0 then
  local time = call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local kept = call('HMGET', KEYS[1], 'worker', 'out', 'opens')
if kept[1] ~= ARGV[2] or tonumber(kept[2] or 0) == 0 then return 0 end
local ends = now + seconds
call('HSET', KEYS[1], 'until', string.format('%.0f', ends))
call('PEXPIRE', KEYS[1], math.ceil((math.max(ends, tonumber(kept[3])) - now) / 1000))
return 1
