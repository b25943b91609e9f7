-- ARGV[3]: how many leases at most. Returns how many were taken back.
local lost = call('ZRANGE', OWN .. 'leases', 0, tonumber(ARGV[3]) - 1)
for _, fp in ipairs(lost) do
  local r = read(fp)
  r.attempt = math.max(r.attempt - 1, 0)
  rest(r.queue, polite(r.queue).delay)
  requeue(r)
end
flush()
return #lost
