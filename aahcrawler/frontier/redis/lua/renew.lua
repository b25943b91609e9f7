-- ARGV from 3: fingerprint and token of each lease, in turn. Returns 1 or 0 for each: whether it is still held.
local answers = {}
for i = 3, #ARGV, 2 do
  local r = holding(ARGV[i], ARGV[i + 1])
  answers[#answers + 1] = r and 1 or 0
  if r then
    call('ZADD', OWN .. 'leases', NOW + LEASE, r.fp)
    call('ZADD', SHARED .. 'slots', 'XX', NOW + LEASE, slot(r.queue, ARGV[1], r.batch))
  end
end
return answers
