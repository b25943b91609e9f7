-- ARGV from 3: fingerprint and token of each lease, in turn. Returns how many were still held.
local released = 0
for i = 3, #ARGV, 2 do
  local r = holding(ARGV[i], ARGV[i + 1])
  if r then
    r.attempt = math.max(r.attempt - 1, 0)
    requeue(r, ARGV[i + 1])
    released = released + 1
  end
end
flush()
return released
