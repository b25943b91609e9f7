-- ARGV from 3: fingerprint, token, delay, reason; then names and amounts of tallies. Returns the letter of the URL's state, false for one that is not known.
local fp, token, delay, reason = ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
local r, state = holding(fp, token)
if not r then return state end
rest(r.queue, delay)
if r.attempt >= ATTEMPTS then
  state = 'f'
  conclude(r, token, state, reason)
else
  state = 'q'
  requeue(r, token)
end
add_tallies(7)
flush()
return state
