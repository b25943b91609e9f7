-- ARGV[3]: how many URLs at most of each; ARGV[4]: packed, queue, kind, and rank and member of the place behind which they
-- are, no member for the very start. Returns packed for each how many there are, and then rank, member and record of each.
local most = tonumber(ARGV[3])
local out = {}

local function add(entries, m, left)
  local added = 0
  for i = 1, #entries, 2 do
    if added == left then break end
    if not m or entries[i] > m then
      local raw = kept_of(entries[i]:sub(6))
      out[#out + 1] = struct.pack('>dc13I4', tonumber(entries[i + 1]), entries[i], #raw)
      out[#out + 1] = raw
      added = added + 1
    end
  end
  return left - added
end

-- Members compare as bytes: of those with the rank of the place itself some are before it.
local function take(key, best, m, left)
  if not best then return add(call('ZRANGE', key, 0, left - 1, 'WITHSCORES'), nil, left) end
  left = add(call('ZRANGEBYSCORE', key, best, best, 'WITHSCORES'), m, left)
  if left == 0 then return 0 end
  return add(call('ZRANGEBYSCORE', key, '(' .. best, '+inf', 'WITHSCORES', 'LIMIT', 0, left), nil, left)
end

-- Of the record of a queue nothing but this: there may be thousands of queues to look at.
local FLAGS = {p = 2, r = 16}

local function is_chunked(name, kind)
  local raw = call('HGET', QUEUES, name)
  return raw and raw:byte(FLAGS[kind]) >= 2
end

local function walk(name, kind, best, m)
  local key, left = OWN .. kind .. ':' .. name, most
  if not is_chunked(name, kind) then return take(key, best, m, left) end
  local entry
  if best then
    local whole = m == '' and '' or '\255'
    entry = call('ZREVRANGEBYLEX', key, '[' .. position(tonumber(best), m) .. whole, '-', 'LIMIT', 0, 1)[1]
  end
  entry = entry or call('ZRANGE', key, 0, 0)[1]
  while entry and left > 0 do
    left = take(chunk_key(key, entry), best, m, left)
    best, m = nil, nil
    entry = left > 0 and call('ZRANGEBYLEX', key, '(' .. entry, '+', 'LIMIT', 0, 1)[1]
  end
  return left
end

local asked, at = ARGV[4], 1
while at <= #asked do
  local name, kind, is_start, best, size
  name, kind, is_start, best, size, at = struct.unpack('>c6c1c1dB', asked, at)
  local begin = #out + 1
  out[begin] = ''
  local m = asked:sub(at, at + size - 1)
  at = at + size
  local written = is_start == '0' and string.format('%.0f', best) or nil
  out[begin] = struct.pack('>I4', most - walk(name, kind, written, written and m))
end
return table.concat(out)
