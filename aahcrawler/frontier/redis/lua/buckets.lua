-- ARGV[3]: the first of some buckets of URLs; ARGV[4]: how many. Returns packed the fingerprint and the record of each URL in
-- them that has not ended.
local out = {}
local first = tonumber(ARGV[3])
for number = first, first + tonumber(ARGV[4]) - 1 do
  local kept = call('HGETALL', OWN .. 'u:' .. number)
  for i = 1, #kept, 2 do
    local raw = kept[i + 1]
    if raw:byte(1) >= 128 then
      out[#out + 1] = struct.pack('>c8I4', kept[i], #raw)
      out[#out + 1] = raw
    end
  end
end
return table.concat(out)
