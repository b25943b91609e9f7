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
--   posted:0, posted:1  hash  key of a post -> its effect and content; `day`: which day's posts these are
--   counts        hash   kind and state -> URLs; `queues`, `sequence` and `batch` beside them
--   reasons       hash   why URLs were blocked or failed -> URLs
--   tallies       hash   the crawl's own numbers, which grow with its URLs
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
-- The kind of a page at the front is P. Such pages stand above all scores, and among themselves by score.
local FRONT = 1e15

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
  if r.kind == 'P' then r.kind, r.front = 'p', true end
  return r, r.state
end

local function write(r)
  local raw = struct.pack(RECORD, r.state, r.front and 'P' or r.kind, r.attempt, r.depth, r.offers, r.value, r.sequence, #r.queue, r.queue)
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

local QUEUE = '>c1BI5dBI5dI4I4I4I4'
local EMPTY = struct.pack(QUEUE, '-', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
local queues = {}

-- The best URL of one kind: its sequence (0: none) and negated score, and as what it stands among the ready ones.
local function new_head(listed, sequence, best)
  return {sequence = sequence, best = best, listed = listed == 1, old_sequence = sequence, old_best = best}
end

local function queue(name)
  local q = queues[name]
  if not q then
    local raw = call('HGET', OWN .. 'queues', name) or EMPTY
    local place, page_listed, page, page_best, requisite_listed, requisite, requisite_best, pages, requisites, leased,
      done = struct.unpack(QUEUE, raw)
    q = {name = name, place = place, p = new_head(page_listed, page, page_best),
      r = new_head(requisite_listed, requisite, requisite_best),
      pages = pages, requisites = requisites, leased = leased, done = done, held = pages + requisites > 0}
    queues[name] = q
  end
  return q
end

local function pages_open(q)
  if PAGES > 0 and total('pl') + total('pd') >= PAGES then return false end
  return not q or QUEUE_PAGES == 0 or q.leased + q.done < QUEUE_PAGES
end

local function enqueue(r)
  local best = -score(r) - (r.front and FRONT or 0)
  r.state = 'q'
  call('ZADD', OWN .. r.kind .. ':' .. r.queue, best, member(r))
  local head = queue(r.queue)[r.kind]
  if head.sequence == r.sequence then
    head.stale = head.stale or best > head.best
    head.best = best
  elseif head.sequence == 0 or best < head.best or (best == head.best and r.sequence < head.sequence) then
    head.sequence, head.best = r.sequence, best
  end
end

local function refresh(q, kind)
  local head = q[kind]
  if head.stale then
    local top = call('ZRANGE', OWN .. kind .. ':' .. q.name, 0, 0, 'WITHSCORES')
    head.sequence = top[1] and struct.unpack('>I5', top[1]) or 0
    head.best = tonumber(top[2] or 0)
    head.stale = false
  end
  return head
end

local function list(q, kind, wanted)
  local head = refresh(q, kind)
  local ready = OWN .. 'ready:' .. kind
  local moved = head.sequence ~= head.old_sequence
  if head.listed and (moved or not wanted) then
    call('ZREM', ready, struct.pack('>I5', head.old_sequence) .. q.name)
  end
  if wanted and (moved or not head.listed or head.best ~= head.old_best) then
    call('ZADD', ready, head.best, struct.pack('>I5', head.sequence) .. q.name)
  end
  head.listed, head.old_sequence, head.old_best = wanted, head.sequence, head.best
  return wanted and 1 or 0
end

-- Whether a queue is ready, waits, or stands nowhere while nothing of it may be leased. A call that
-- has not looked at its politeness cannot have changed it.
local function place(q, eligible)
  if not eligible then
    if q.place == 'w' then call('ZREM', OWN .. 'waiting', q.name) end
    return '-'
  end
  if q.place ~= '-' and not politeness[q.name] then return q.place end
  local opens = opens_at(q.name)
  if opens > NOW then
    call('ZADD', OWN .. 'waiting', opens == INFINITY and '+inf' or opens, q.name)
    if opens == INFINITY then call('SADD', SHARED .. 'parked:' .. q.name, ARGV[1]) end
    return 'w'
  end
  if q.place == 'w' then call('ZREM', OWN .. 'waiting', q.name) end
  return 'r'
end

-- Put a queue where it belongs and write it down.
local function settle(q)
  local page = q.pages > 0 and (QUEUE_PAGES == 0 or q.leased + q.done < QUEUE_PAGES)
  local requisite = q.requisites > 0
  q.place = place(q, page or requisite)
  local page_listed = list(q, 'p', page and q.place == 'r')
  local requisite_listed = list(q, 'r', requisite and q.place == 'r')
  local holds = q.pages + q.requisites > 0
  if holds ~= q.held then
    count('queues', holds and 1 or -1)
    q.held = holds
  end
  call('HSET', OWN .. 'queues', q.name, struct.pack(QUEUE, q.place, page_listed, q.p.sequence, q.p.best,
    requisite_listed, q.r.sequence, q.r.best, q.pages, q.requisites, q.leased, q.done))
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
