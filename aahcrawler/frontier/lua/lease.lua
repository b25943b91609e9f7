-- ARGV[3]: how many URLs at most; ARGV[4]: the worker; ARGV[5]: who asks, ARGV[6]: for the how manieth time; ARGV[7]: the
-- version of the rules that the URLs are going to be matched with. Returns what was learned of its queue, and record of
-- each, in the order of leasing; or the version of the rules where that is another one. A call that is repeated, because
-- its answer was lost, is given the same again, as far as these leases hold.
if total('rules') ~= tonumber(ARGV[7]) then return total('rules') end

-- Bounds how long the server is held when very many leases or delays end at once; the rest follows with the next call.
local AT_ONCE = 500
-- protocol.LEAST_LEASES
local LEAST_LEASES = 3

local function take_back_lost()
  for _, fp in ipairs(call('ZRANGEBYSCORE', OWN .. 'leases', '-inf', NOW, 'LIMIT', 0, AT_ONCE)) do
    local r = read(fp)
    rest(r.queue, polite(r.queue).delay)
    if r.attempt >= math.max(ATTEMPTS, LEAST_LEASES) then
      conclude(r, 'f', 'lease ran out')
    else
      requeue(r)
    end
  end
  for _, lost in ipairs(call('ZRANGEBYSCORE', SHARED .. 'slots', '-inf', NOW, 'LIMIT', 0, AT_ONCE)) do
    local name = lost:sub(1, 6)
    local crawl, batch = lost:match('^(%Z*)%z(%d+)$', 7)
    rest(name, polite(name).delay)
    free_slot(name, crawl, batch)
  end
  for _, q in pairs(queues) do settle(q) end
end

local function wake()
  write_down()
  for _, name in ipairs(call('ZRANGEBYSCORE', OWN .. 'waiting', '-inf', NOW, 'LIMIT', 0, AT_ONCE)) do
    polite(name)
    settle(queue(name))
  end
end

-- The queues that stand ready, the best first, read some at a time. Those with connections of another worker stand ready
-- for that worker alone; these are passed over.
local AHEAD = 32
local ahead = {p = {at = 1, more = true}, r = {at = 1, more = true}}
local passed, number_passed = {}, 0

local function look_ahead(kind)
  write_down()
  local most = AHEAD + number_passed
  local entries = call('ZRANGE', OWN .. 'ready:' .. kind, 0, most - 1, 'WITHSCORES')
  entries.at, entries.more = 1, #entries == 2 * most
  ahead[kind] = entries
end

local function is_anothers(name)
  local p = polite(name)
  return p.out > 0 and p.worker ~= ARGV[4] and opens_at(name) <= NOW
end

local function is_candidate(name, kind)
  if passed[name] or (queues[name] and not queues[name][kind].listed) then return false end
  if not is_anothers(name) then return true end
  passed[name], number_passed = true, number_passed + 1
  return false
end

-- The queue whose best URL of a kind is the best of all, and that URL's rank.
local function first(kind)
  while number_passed < AT_ONCE do
    local entries = ahead[kind]
    local entry = entries[entries.at]
    if not entry then
      if not entries.more then return end
      look_ahead(kind)
    elseif is_candidate(entry:sub(6), kind) then
      return entry:sub(6), tonumber(entries[entries.at + 1])
    else
      entries.at = entries.at + 2
    end
  end
end

local function best_queue()
  local page, page_rank, requisite, requisite_rank
  if pages_open() then page, page_rank = first('p') end
  if total('rq') > 0 then requisite, requisite_rank = first('r') end
  return requisite and (not page or requisite_rank <= page_rank) and requisite or page
end

local function best_kind(q)
  local page = q.pages > 0 and pages_open(q)
  if q.requisites == 0 then return page and 'p' end
  return page and refresh(q, 'p').best < refresh(q, 'r').best and 'p' or 'r'
end

local ASKED, ask = SHARED .. 'asked:' .. ARGV[5], tonumber(ARGV[6])
local given = {}

-- What was leased by a call of this number, nil where there was none yet; nothing where later ones were made.
local function given_before()
  local kept = call('GET', ASKED)
  if not kept or struct.unpack('>d', kept) < ask then return nil end
  local again = {}
  if struct.unpack('>d', kept) > ask then return again end
  for at = 9, #kept, 13 do
    local fp, batch = struct.unpack('>c8I5', kept, at)
    local r, state, raw = read(fp)
    if state == 'l' and r.batch == batch then
      again[#again + 1] = string.format('%.0f', polite(r.queue).learned)
      again[#again + 1] = raw
    end
  end
  return again
end

local function remember()
  if not given[1] then return end
  call('SET', ASKED, struct.pack('>d', ask) .. table.concat(given), 'PX', math.ceil(LEASE / 1000))
end

local function take(q, kind, batch, alone, fp)
  local r = read(fp)
  r.state, r.since, r.batch, r.alone = 'l', NOW, batch, alone
  r.attempt = math.min(r.attempt + 1, MOST_ATTEMPTS)
  tally(q, kind, 'q', -1)
  tally(q, kind, 'l', 1)
  note_score(OWN .. 'leases', fp, NOW + LEASE)
  given[#given + 1] = struct.pack('>c8I5', r.fp, batch)
  return write(r)
end

local function take_batch(q, most, leases)
  local batch = next_number('batch')
  local taken = 0
  local p = polite(q.name)
  local learned = string.format('%.0f', p.learned)
  local kind = best_kind(q)
  while kind and taken < most do
    local members = pop(q, kind, q.requisites == 0 and math.min(most - taken, pages_left(q)) or 1)
    for i = 1, #members, 2 do
      leases[#leases + 1] = learned
      leases[#leases + 1] = take(q, kind, batch, most == 1, members[i]:sub(6))
      taken = taken + 1
    end
    kind = taken < most and best_kind(q)
  end
  if taken == 0 then error('queue ' .. q.label .. ' stands ready and has nothing to lease') end
  if most > 1 then note_field(OWN .. 'batches', batch, taken) end
  note_score(SHARED .. 'slots', slot(q.name, ARGV[1], batch), NOW + LEASE)
  q.taken = true
  p.out = p.out + 1
  p.worker = ARGV[4]
  p.changed = true
  if CONNECTIONS > 1 then rest(q.name, p.delay) end
  return taken
end

local before = given_before()
if before then return before end
if total('paused') == 1 then return {} end
take_back_lost()
wake_due(AT_ONCE)
wake()
local leases = {}
local left = tonumber(ARGV[3])
while left > 0 do
  local name = best_queue()
  if not name then break end
  local q = queue(name)
  if opens_at(name) <= NOW then left = left - take_batch(q, math.min(left, BALANCE), leases) end
  settle(q)
  -- One that is ready still has another place among the others.
  if q.place == 'r' then ahead = {p = {at = 1, more = true}, r = {at = 1, more = true}} end
end
remember()
flush()
return leases
