-- ARGV from 3: fingerprint, token, state, delay, reason, packed offers; then names and amounts of tallies.
-- Returns 1, or 0 when the lease had been lost.
local fp, token, state, delay, reason = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7]
local r = holding(fp, token)
if not r then
  return call('ZSCORE', OWN .. 'finished', fp .. token) and 1 or 0
end
rest(r.queue, delay)
if state == 'd' then
  local p = polite(r.queue)
  p.changed = p.changed or p.delay ~= delay
  p.delay = delay
end
conclude(r, token, state, reason)
call('ZADD', OWN .. 'finished', NOW, fp .. token)
offer_all(ARGV[8])
add_tallies(9)
flush()
return 1
