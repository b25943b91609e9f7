-- The queued URLs of a queue and kind, best first. Zsets sort by score and then by member: scores are stored negated,
-- so the best comes first and of equals the earliest offered.
--
-- Servers keep a zset packed while it is small. A queue of CHUNK URLs and more is therefore kept in several zsets, each
-- KEY:NUMBER, and KEY itself is then their directory (a B+ tree of two levels): members are where a chunk begins
-- (position) and its number, in the order of positions; the first one begins at the very start.

local LOWEST = 2e15
local START = string.rep('\0', 20)

local function member(r)
  return struct.pack('>I5', r.sequence) .. r.fp
end

local function position(best, m)
  return struct.pack('>I7', best + LOWEST) .. m
end

local function chunk_key(key, entry)
  return key .. ':' .. entry:sub(-5)
end

-- The zset that a URL of this rank is in, or would be; and its entry in the directory.
local function home(q, kind, best, m)
  local key = OWN .. kind .. ':' .. q.name
  if not q[kind].chunked then return key end
  local entry = call('ZREVRANGEBYLEX', key, '[' .. position(best, m) .. '\255', '-', 'LIMIT', 0, 1)[1]
  return chunk_key(key, entry), entry
end

local function halve(key, directory)
  local half = math.floor(CHUNK / 2)
  local upper = call('ZRANGE', key, half, -1, 'WITHSCORES')
  local entry = position(tonumber(upper[2]), upper[1]) .. struct.pack('>I5', next_number('sequence'))
  local moved = {}
  for i = 1, #upper, 2 do moved[i], moved[i + 1] = upper[i + 1], upper[i] end
  call('ZADD', chunk_key(directory, entry), unpack(moved))
  call('ZREMRANGEBYRANK', key, half, -1)
  call('ZADD', directory, 0, entry)
end

local function begin_chunks(q, kind, key)
  local entry = START .. struct.pack('>I5', next_number('sequence'))
  call('RENAME', key, chunk_key(key, entry))
  call('ZADD', key, 0, entry)
  q[kind].chunked = true
  return chunk_key(key, entry)
end

-- Take an empty chunk out of the directory, whose first entry then begins at the start.
local function drop_chunk(q, kind, entry)
  local key = OWN .. kind .. ':' .. q.name
  call('ZREM', key, entry)
  local first = call('ZRANGE', key, '0', '0')[1]
  if not first then
    q[kind].chunked = false
  elseif first:sub(1, 20) ~= START then
    call('ZREM', key, first)
    call('ZADD', key, 0, START .. first:sub(-5))
  end
end

local function put_in(q, kind, best, m)
  local key = home(q, kind, best, m)
  call('ZADD', key, best, m)
  local directory = OWN .. kind .. ':' .. q.name
  local queued = kind == 'p' and q.pages or q.requisites
  if queued + 1 >= CHUNK and call('ZCARD', key) >= CHUNK then
    halve(q[kind].chunked and key or begin_chunks(q, kind, key), directory)
  end
end

local function take_out(q, kind, best, m)
  local key, entry = home(q, kind, best, m)
  call('ZREM', key, m)
  if entry and call('EXISTS', key) == 0 then drop_chunk(q, kind, entry) end
end

local function move(q, kind, from, to, m)
  if not q[kind].chunked or home(q, kind, from, m) == home(q, kind, to, m) then
    call('ZADD', (home(q, kind, to, m)), to, m)
  else
    take_out(q, kind, from, m)
    put_in(q, kind, to, m)
  end
end

-- The zset of the best URLs, and its entry in the directory.
local function first_chunk(q, kind)
  local key = OWN .. kind .. ':' .. q.name
  if not q[kind].chunked then return key end
  local entry = call('ZRANGE', key, '0', '0')[1]
  return chunk_key(key, entry), entry
end

-- Say which URL is the best of one kind: a member and its rank, or nothing.
local function set_head(head, top)
  head.sequence = top[1] and struct.unpack('>I5', top[1]) or 0
  head.best = tonumber(top[2] or 0)
  head.stale = false
end

-- Take the best URLs out, `most` at most and one at least; return their members, which the caller counts.
local function pop(q, kind, most)
  local key, entry = first_chunk(q, kind)
  local members = call('ZRANGE', key, '0', string.format('%d', most - 1))
  call('ZREMRANGEBYRANK', key, '0', string.format('%d', #members - 1))
  local is_last = (kind == 'p' and q.pages or q.requisites) == #members
  local top = is_last and {} or call('ZRANGE', key, '0', '0', 'WITHSCORES')
  set_head(q[kind], top)
  if entry and not top[1] then
    drop_chunk(q, kind, entry)
    q[kind].stale = not is_last
  end
  return members
end
