-- ARGV from 3: fingerprint, token, delay.
local r, delay = holding(ARGV[3], ARGV[4]), tonumber(ARGV[5])
if r then
  local p = polite(r.queue)
  p.changed = p.changed or p.delay ~= delay
  p.delay = delay
  flush()
end
