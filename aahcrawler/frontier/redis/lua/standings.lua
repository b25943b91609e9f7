-- ARGV[3]: queues, six bytes each. Returns what time it is, and then packed what is kept of the politeness of each, nothing
-- but its length of 0 for one of which nothing is.
local out = {struct.pack('>d', NOW)}
for at = 1, #ARGV[3], 6 do
  local raw = call('HGET', POLITENESS, ARGV[3]:sub(at, at + 5)) or ''
  out[#out + 1] = struct.pack('>I4', #raw) .. raw
end
return table.concat(out)
