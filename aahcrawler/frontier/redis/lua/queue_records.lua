-- ARGV[3]: where to begin among the queues, 0 at first. Returns where to go on, and packed the id and the record of some.
local found = call('HSCAN', OWN .. 'queues', ARGV[3], 'COUNT', 1000)
local out, entries = {}, found[2]
for i = 1, #entries, 2 do
  out[#out + 1] = struct.pack('>c6I4', entries[i], #entries[i + 1]) .. entries[i + 1]
end
return {found[1], table.concat(out)}
