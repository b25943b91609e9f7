-- Keys, encodings and the bookkeeping of one call; the other scripts follow in the same chunk.
--
-- KEYS[1] is the hash tag of a partition, so that every key below lies in one slot of a cluster.
-- ARGV[1] names the crawl, ARGV[2] packs the settings of the call. Times are microseconds, scores millionths.
--
-- Shared by all crawls of the partition (SHARED):
--   queues        hash   queue -> politeness: opens at, usual delay, connections out
--   slots         zset   queue NUL crawl NUL batch, by expiry: one member a connection that is out
--   parked:QUEUE  set    crawls whose queue waits for a connection to come back
-- Of one crawl (OWN):
--   u:XX          hash   last six bytes of a fingerprint -> record, or state and reason of an ended URL
--   p:QUEUE       zset   queued pages, r:QUEUE queued requisites: member sequence (5 bytes) and fingerprint (8)
--   queues        hash   queue -> where it stands, its heads, its counts
--   ready:p       zset   queues by their best page, ready:r by their best requisite: member sequence and queue
--   waiting       zset   queues by when they open; infinity while every connection is out
--   leases        zset   fingerprints by expiry; tokens: hash fingerprint -> token; batches: hash batch -> URLs out
--   finished      zset   fingerprint and token of the last minute's finishes, by time
--   counts        hash   kind and state -> URLs; `queues`, `sequence` and `batch` beside them
--   reasons       hash   why URLs were blocked or failed -> URLs
-- Zsets sort by score and then by member: scores are stored negated, so the best and earliest offered comes first.

local SHARED = KEYS[1] .. ':s:'
local OWN = KEYS[1] .. ':c:' .. ARGV[1] .. ':'
local NOW, UPDATE, BALANCE, PAGES, QUEUE_PAGES, LEASE, ATTEMPTS, CONNECTIONS =
  struct.unpack('>dc1I4I4I4dI4I4', ARGV[2])
if NOW < 0 then
  local time = redis.call('TIME')
  NOW = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local call = redis.call
local INFINITY = math.huge
local RECORD = '>c1c1I2I2I4dI5Bc0'
local NOBODY = '\0\0\0\0\0'

local totals = {}
local deltas = {}

local function count(field, by)
  deltas[field] = (deltas[field] or 0) + by
end

local function total(field)
  if not totals[field] then
    totals[field] = tonumber(call('HGET', OWN .. 'counts', field) or 0)
  end
  return totals[field] + (deltas[field] or 0)
end

local function next_number(field)
  count(field, 1)
  return total(field)
end

-- URL records

local function read(fp)
  local raw = call('HGET', OWN .. 'u:' .. fp:sub(1, 2), fp:sub(3))
  if not raw then return nil, false end
  local state = raw:sub(1, 1)
  if state ~= 'q' and state ~= 'l' then return nil, state end
  local r = {fp = fp}
  local at
  r.state, r.kind, r.attempt, r.depth, r.offers, r.value, r.sequence, r.queue, at = struct.unpack(RECORD, raw)
  r.body = raw:sub(at)
  return r, r.state
end

local function write(r)
  local raw = struct.pack(RECORD, r.state, r.kind, r.attempt, r.depth, r.offers, r.value, r.sequence, #r.queue, r.queue)
    .. r.body
  call('HSET', OWN .. 'u:' .. r.fp:sub(1, 2), r.fp:sub(3), raw)
  return raw
end

local function score(r)
  if r.offers == 1 then return r.value end
  return math.floor(r.value / r.offers + 0.5)
end

local function member(r)
  return struct.pack('>I5', r.sequence) .. r.fp
end

-- Politeness, shared by all crawls

local politeness = {}

local function polite(name)
  local p = politeness[name]
  if not p then
    p = {opens = 0, delay = 0, out = 0}
    local raw = call('HGET', SHARED .. 'queues', name)
    if raw then p.opens, p.delay, p.out = struct.unpack('>ddI4', raw) end
    politeness[name] = p
  end
  return p
end

local function rest(name, delay)
  local p = polite(name)
  if NOW + delay > p.opens then
    p.opens = NOW + delay
    p.changed = true
  end
end

local function opens_at(name)
  local p = polite(name)
  if p.out >= CONNECTIONS then return INFINITY end
  return p.opens
end

local function slot(name, crawl, batch)
  return name .. '\0' .. crawl .. '\0' .. batch
end

local function free_slot(name, crawl, batch)
  if call('ZREM', SHARED .. 'slots', slot(name, crawl, batch)) == 0 then return end
  local p = polite(name)
  p.out = math.max(p.out - 1, 0)
  p.changed = true
  local key = SHARED .. 'parked:' .. name
  for _, other in ipairs(call('SMEMBERS', key)) do
    call('ZADD', KEYS[1] .. ':c:' .. other .. ':waiting', 'XX', p.opens, name)
  end
  call('DEL', key)
end

-- Queues of the crawl

local queues = {}

local function queue(name)
  local q = queues[name]
  if not q then
    q = {name = name, place = '-', page = NOBODY, requisite = NOBODY, pages = 0, requisites = 0, leased = 0, done = 0}
    local raw = call('HGET', OWN .. 'queues', name)
    if raw then
      q.place, q.page, q.requisite, q.pages, q.requisites, q.leased, q.done = struct.unpack('>c1c5c5I4I4I4I4', raw)
    end
    q.held = q.pages + q.requisites > 0
    queues[name] = q
  end
  return q
end

local function pages_open(q)
  if PAGES > 0 and total('pl') + total('pd') >= PAGES then return false end
  return not q or QUEUE_PAGES == 0 or q.leased + q.done < QUEUE_PAGES
end

local function head(ready, key, name, before)
  local top = call('ZRANGE', key .. name, 0, 0, 'WITHSCORES')
  local now = top[1] and top[1]:sub(1, 5) or NOBODY
  if before ~= now and before ~= NOBODY then call('ZREM', OWN .. ready, before .. name) end
  if top[1] then call('ZADD', OWN .. ready, top[2], now .. name) end
  return now
end

local function no_head(ready, name, before)
  if before ~= NOBODY then call('ZREM', OWN .. ready, before .. name) end
  return NOBODY
end

-- Put a queue where it belongs: among the ready ones, the waiting ones, or nowhere while nothing of it may be leased.
local function settle(q)
  local name = q.name
  local page = q.pages > 0 and (QUEUE_PAGES == 0 or q.leased + q.done < QUEUE_PAGES)
  local requisite = q.requisites > 0
  local opens = (page or requisite) and opens_at(name) or 0
  local waits = opens > NOW
  if waits then
    call('ZADD', OWN .. 'waiting', opens == INFINITY and '+inf' or opens, name)
    if opens == INFINITY then call('SADD', SHARED .. 'parked:' .. name, ARGV[1]) end
  elseif q.place == 'w' then
    call('ZREM', OWN .. 'waiting', name)
  end
  if page and not waits then q.page = head('ready:p', OWN .. 'p:', name, q.page)
  else q.page = no_head('ready:p', name, q.page) end
  if requisite and not waits then q.requisite = head('ready:r', OWN .. 'r:', name, q.requisite)
  else q.requisite = no_head('ready:r', name, q.requisite) end
  q.place = waits and 'w' or (page or requisite) and 'r' or '-'
  local holds = q.pages + q.requisites > 0
  if holds ~= q.held then
    count('queues', holds and 1 or -1)
    q.held = holds
  end
  call('HSET', OWN .. 'queues', name,
    struct.pack('>c1c5c5I4I4I4I4', q.place, q.page, q.requisite, q.pages, q.requisites, q.leased, q.done))
end

-- Write down what the call changed; nothing may be read or changed afterwards.
local function flush()
  for _, q in pairs(queues) do settle(q) end
  for name, p in pairs(politeness) do
    if p.changed and p.out == 0 and p.delay == 0 and p.opens <= NOW then
      call('HDEL', SHARED .. 'queues', name)
    elseif p.changed then
      call('HSET', SHARED .. 'queues', name, struct.pack('>ddI4', p.opens, p.delay, p.out))
    end
  end
  for field, by in pairs(deltas) do
    if by ~= 0 then call('HINCRBY', OWN .. 'counts', field, by) end
  end
end

-- Count a URL into a state of its queue (by 1) or out of it (by -1).
local function tally(q, kind, state, by)
  count(kind .. state, by)
  if kind == 'r' then
    if state == 'q' then q.requisites = q.requisites + by end
  elseif state == 'q' then
    q.pages = q.pages + by
  elseif state == 'l' then
    q.leased = q.leased + by
  elseif state == 'd' then
    q.done = q.done + by
  end
end

local function enqueue(r)
  r.state = 'q'
  call('ZADD', OWN .. r.kind .. ':' .. r.queue, -score(r), member(r))
end
