-- ARGV[3]: how many URLs of each queue at most; from 4: queues. Returns the records of their best requisites and pages.
local most = tonumber(ARGV[3])
local records = {}

local function best_of(key, left)
  local members = call('ZRANGE', key, 0, left - 1)
  for _, m in ipairs(members) do
    local _, _, raw = read(m:sub(6))
    records[#records + 1] = raw
  end
  return left - #members
end

local function best_of_kind(q, kind)
  local key = OWN .. kind .. ':' .. q.name
  if not q[kind].chunked then return best_of(key, most) end
  local left = most
  for _, entry in ipairs(call('ZRANGE', key, 0, most - 1)) do
    if left > 0 then left = best_of(chunk_key(key, entry), left) end
  end
end

for i = 4, #ARGV do
  local q = queue(ARGV[i], '')
  if q.requisites > 0 then best_of_kind(q, 'r') end
  if q.pages > 0 then best_of_kind(q, 'p') end
end
return records
