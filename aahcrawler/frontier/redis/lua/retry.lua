-- ARGV from 3: fingerprint, token, delay, reason, what was learned of the queue or nothing; then names and amounts of
-- tallies. Returns the letter of the URL's state, false for one that is not known.
local fp, token, delay, reason = ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
local r, state = holding(fp, token)
if not r then return state end
rest(r.queue, delay)
learn(r.queue, ARGV[7])
if r.attempt >= ATTEMPTS then
  state = 'f'
  conclude(r, state, reason)
else
  state = 'q'
  requeue(r)
end
add_tallies(8)
flush()
return state
