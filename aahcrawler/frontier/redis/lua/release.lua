-- ARGV[3]: for how long their queues rest; from 4: fingerprint and token of each lease, in turn. Returns how many were still held.
local released = 0
for i = 4, #ARGV, 2 do
  local r = holding(ARGV[i], ARGV[i + 1])
  if r then
    rest(r.queue, tonumber(ARGV[3]))
    r.attempt = math.max(r.attempt - 1, 0)
    requeue(r)
    released = released + 1
  end
end
flush()
return released
