-- KEYS[1]: an IP address. ARGV: time in microseconds (below 0: the server's), worker, and delay until the next fetch.
local call = redis.call
local now, worker, delay = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
if now < 0 then
  local time = call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local kept = call('HMGET', KEYS[1], 'worker', 'out', 'until', 'opens', 'delay')
local out = tonumber(kept[2] or 0)
if kept[1] ~= worker or out == 0 then return 0 end
local longest = math.max(tonumber(kept[5]), delay)
local opens = math.max(math.min(tonumber(kept[4]), now + longest), now + delay)
local ends = math.max(out > 1 and tonumber(kept[3]) or 0, opens)
if ends <= now then
  call('DEL', KEYS[1])
else
  call('HSET', KEYS[1], 'out', out - 1, 'opens', string.format('%.0f', opens), 'delay', string.format('%.0f', longest))
  call('PEXPIRE', KEYS[1], math.ceil((ends - now) / 1000))
end
return 1
