-- ARGV[3]: how many URLs at most. Returns token and record of each, in the order of leasing.

-- Bounds how long the server is held when very many leases or delays end at once; the rest follows with the next call.
local AT_ONCE = 10000

local function take_back_lost()
  for _, fp in ipairs(call('ZRANGEBYSCORE', OWN .. 'leases', '-inf', NOW, 'LIMIT', 0, AT_ONCE)) do
    local r = read(fp)
    local token = call('HGET', OWN .. 'tokens', fp)
    rest(r.queue, polite(r.queue).delay)
    if r.attempt >= ATTEMPTS then
      conclude(r, token, 'f', 'lease ran out')
    else
      requeue(r, token)
    end
  end
  for _, lost in ipairs(call('ZRANGEBYSCORE', SHARED .. 'slots', '-inf', NOW, 'LIMIT', 0, AT_ONCE)) do
    local name, crawl, batch = lost:match('^(%Z*)%z(%Z*)%z(%Z*)$')
    rest(name, polite(name).delay)
    free_slot(name, crawl, batch)
  end
  for _, q in pairs(queues) do settle(q) end
end

local function wake()
  for _, name in ipairs(call('ZRANGEBYSCORE', OWN .. 'waiting', '-inf', NOW, 'LIMIT', 0, AT_ONCE)) do
    polite(name)
    settle(queue(name))
  end
end

local function best_queue()
  local page = pages_open() and call('ZRANGE', OWN .. 'ready:p', 0, 0, 'WITHSCORES') or {}
  local requisite = call('ZRANGE', OWN .. 'ready:r', 0, 0, 'WITHSCORES')
  if requisite[1] and (not page[1] or tonumber(requisite[2]) <= tonumber(page[2])) then
    return requisite[1]:sub(6)
  end
  return page[1] and page[1]:sub(6)
end

local function best_kind(q)
  local page = q.pages > 0 and pages_open(q)
  if q.requisites == 0 then return page and 'p' end
  return page and refresh(q, 'p').best < refresh(q, 'r').best and 'p' or 'r'
end

local function take(q, kind, token)
  local r = read(call('ZPOPMIN', OWN .. kind .. ':' .. q.name)[1]:sub(6))
  q[kind].stale = true
  r.state = 'l'
  r.attempt = math.min(r.attempt + 1, 65535)
  tally(q, kind, 'q', -1)
  tally(q, kind, 'l', 1)
  call('ZADD', OWN .. 'leases', NOW + LEASE, r.fp)
  call('HSET', OWN .. 'tokens', r.fp, token)
  return write(r)
end

local function take_batch(q, most, leases)
  local batch = string.format('%.0f', next_number('batch'))
  local token = batch .. '-' .. string.format('%.0f', NOW)
  local taken = 0
  local kind = best_kind(q)
  while kind and taken < most do
    leases[#leases + 1] = token
    leases[#leases + 1] = take(q, kind, token)
    taken = taken + 1
    kind = best_kind(q)
  end
  if taken == 0 then error('queue ' .. q.name .. ' stands ready and has nothing to lease') end
  call('HSET', OWN .. 'batches', batch, taken)
  call('ZADD', SHARED .. 'slots', NOW + LEASE, slot(q.name, ARGV[1], batch))
  local p = polite(q.name)
  p.out = p.out + 1
  p.changed = true
  if CONNECTIONS > 1 then rest(q.name, p.delay) end
  return taken
end

take_back_lost()
wake()
call('ZREMRANGEBYSCORE', OWN .. 'finished', '-inf', NOW - 60000000)
local leases = {}
local left = tonumber(ARGV[3])
while left > 0 do
  local name = best_queue()
  if not name then break end
  local q = queue(name)
  if opens_at(name) <= NOW then left = left - take_batch(q, math.min(left, BALANCE), leases) end
  settle(q)
end
flush()
return leases
