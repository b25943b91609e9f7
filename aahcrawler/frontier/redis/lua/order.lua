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

-- The zset of all URLs of a queue and kind, or the directory.
local function root(q, kind)
  local head = q[kind]
  local key = head.key
  if not key then
    key = OWN .. kind .. ':' .. q.name
    head.key = key
  end
  return key
end

-- The zset that a URL of this rank is in, or would be; and its entry in the directory.
local function home(q, kind, best, m)
  local key = root(q, kind)
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
  local key = root(q, kind)
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
  local directory = root(q, kind)
  local queued = kind == 'p' and q.pages or q.requisites
  if queued + 1 >= CHUNK and call('ZCARD', key) >= CHUNK then
    halve(q[kind].chunked and key or begin_chunks(q, kind, key), directory)
  end
end

-- URLs that were not known before are put into a small queue together: see `put_added`.
local function put_later(q, kind, best, m)
  local head = q[kind]
  if head.chunked then return put_in(q, kind, best, m) end
  local added = head.added
  if added then
    local at = #added
    added[at + 1], added[at + 2] = best, m
  else
    head.added = {best, m}
  end
end

-- Put in what waits for it; to be called before anything of the queue is read, moved or taken out. The zset does not grow
-- beyond CHUNK on the way: a server that had to unpack one would not pack it again.
local function put_added(q, kind)
  local added = q[kind].added
  if not added then return end
  q[kind].added = nil
  if (kind == 'p' and q.pages or q.requisites) < CHUNK then
    call('ZADD', root(q, kind), unpack(added))
  else
    for i = 1, #added, 2 do put_in(q, kind, added[i], added[i + 1]) end
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
  local key = root(q, kind)
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
