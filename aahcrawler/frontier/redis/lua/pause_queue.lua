-- ARGV[3]: a queue; ARGV[4]: its name; ARGV[5]: 1 to pause it, 0 to resume it, in all crawls.
local p = polite(ARGV[3])
p.paused = tonumber(ARGV[5])
p.changed = true
if p.paused == 1 then
  call('HSET', SHARED .. 'paused', ARGV[3], ARGV[4])
else
  call('HDEL', SHARED .. 'paused', ARGV[3])
  unpark(ARGV[3])
end
if call('HEXISTS', OWN .. 'queues', ARGV[3]) == 1 then queue(ARGV[3]) end
flush()
