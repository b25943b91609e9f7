-- ARGV from 3: fingerprint, token, state, delay, reason, packed offers, what was learned of the queue or nothing; then
-- names and amounts of tallies. Returns 1, or 0 when the lease had been lost.
local fp, token, delay = ARGV[3], ARGV[4], tonumber(ARGV[6])
local r, state, raw = holding(fp, token)
if not r then
  local is_ended = state == 'd' or state == 'f' or state == 'b'
  return is_ended and raw:sub(2, 3) == mark_of(tonumber(token:match('^%d+'))) and 1 or 0
end
rest(r.queue, delay)
learn(r.queue, ARGV[9])
if ARGV[5] == 'd' then
  local p = polite(r.queue)
  p.changed = p.changed or p.delay ~= delay
  p.delay = delay
end
conclude(r, ARGV[5], ARGV[7], r.batch)
offer_all(ARGV[8])
add_tallies(10)
flush()
return 1
