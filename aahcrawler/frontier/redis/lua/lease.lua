-- ARGV[3]: how many URLs at most; ARGV[4]: the worker; ARGV[5]: who asks, ARGV[6]: for the how manieth time; ARGV[7]: the
-- version of the rules that the URLs are going to be matched with. Returns the leases in the order of leasing, packed
-- into one value: what was learned of a queue, how many more of its pages may be leased, how many of its URLs follow, and
-- of each the length and the record; or the version of the rules where that is another one. A call that is repeated,
-- because its answer was lost, is given the same again, as far as these leases hold.
if total('rules') ~= tonumber(ARGV[7]) then return total('rules') end

-- Bounds how long the server is held when very many leases or delays end at once; the rest follows with the next call.
local AT_ONCE = 500
-- protocol.LEAST_LEASES
local LEAST_LEASES = 3

local NO_BOUND = 0xFFFFFFFF

local function queue_pages_left(q)
  return QUEUE_PAGES > 0 and math.max(0, QUEUE_PAGES - q.leased - q.done) or NO_BOUND
end

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
local AHEAD = 8
local ahead = {p = {at = 1, more = true}, r = {at = 1, more = true}}
local passed, number_passed = {}, 0
local left = tonumber(ARGV[3])

local function look_ahead(kind)
  write_down()
  local most = AHEAD + number_passed + math.ceil(left / BALANCE)
  local entries = call('ZRANGE', OWN .. 'ready:' .. kind, 0, most - 1)
  entries.at, entries.more = 1, #entries == most
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

-- The queue whose best URL of a kind is the best of all.
local function first(kind)
  while number_passed < AT_ONCE do
    local entries = ahead[kind]
    local entry = entries[entries.at]
    local name = entry and entry:sub(6)
    if not name then
      if not entries.more then return end
      look_ahead(kind)
    elseif is_candidate(name, kind) then
      return queue(name)
    else
      entries.at = entries.at + 1
    end
  end
end

local function best_queue()
  local page = pages_open() and first('p')
  local requisite = total('rq') > 0 and first('r')
  return requisite and (not page or requisite.r.best <= page.p.best) and requisite or page
end

local function best_kind(q)
  local page = q.pages > 0 and pages_open(q)
  if q.requisites == 0 then return page and 'p' end
  return page and refresh(q, 'p').best < refresh(q, 'r').best and 'p' or 'r'
end

local ASKED, ask = SHARED .. 'asked:' .. ARGV[5], tonumber(ARGV[6])
local given = {}

local EXPIRES, SINCE = string.format('%.0f', NOW + LEASE), struct.pack('>d', NOW)
local expiring, slots, batches, answer = {}, {}, {}, {}

-- What was leased by a call of this number, nil where there was none yet; nothing where later ones were made.
local function given_before()
  local kept = call('GET', ASKED)
  if not kept or struct.unpack('>d', kept) < ask then return nil end
  if struct.unpack('>d', kept) > ask then return '' end
  for at = 9, #kept, 13 do
    local fp, batch = struct.unpack('>c8I5', kept, at)
    local r, state, raw = read(fp)
    if state == 'l' and r.batch == batch then
      answer[#answer + 1] = struct.pack('>dI4I2I4', polite(r.queue).learned, queue_pages_left(queue(r.queue)), 1, #raw) .. raw
    end
  end
  return table.concat(answer)
end

local function remember()
  if not given[1] then return end
  call('SET', ASKED, struct.pack('>d', ask) .. table.concat(given), 'PX', math.ceil(LEASE / 1000))
end

-- Lease the URLs of these members of a queue; `lease` is what their records say of that.
local function take(members, batch_bytes, lease, flag)
  local at, answer_at = #given, #answer
  for i = 1, #members do
    local fp = members[i]:sub(6)
    local raw = leased(fp, lease, flag)
    expiring[at + 1], expiring[at + 2] = EXPIRES, fp
    given[at + 1], given[at + 2] = fp, batch_bytes
    answer[answer_at + 1], answer[answer_at + 2] = struct.pack('>I4', #raw), raw
    at, answer_at = at + 2, answer_at + 2
  end
end

local function take_batch(q, most)
  local batch, p = next_number('batch'), polite(q.name)
  local batch_bytes = struct.pack('>I5', batch)
  local lease, flag = SINCE .. batch_bytes, most == 1 and LEASED + ALONE or LEASED
  local head, taken, kind = #answer + 1, 0, best_kind(q)
  answer[head] = ''
  while kind and taken < most do
    local members = pop(q, kind, q.requisites == 0 and math.min(most - taken, pages_left(q)) or 1)
    take(members, batch_bytes, lease, flag)
    tally(q, kind, 'q', -#members)
    tally(q, kind, 'l', #members)
    taken = taken + #members
    kind = taken < most and best_kind(q)
  end
  if taken == 0 then error('queue ' .. q.label .. ' stands ready and has nothing to lease') end
  answer[head] = struct.pack('>dI4I2', p.learned, queue_pages_left(q), taken)
  if most > 1 then batches[#batches + 1], batches[#batches + 2] = batch, taken end
  slots[#slots + 1], slots[#slots + 2] = EXPIRES, slot(q.name, ARGV[1], batch)
  q.taken = true
  p.out = p.out + 1
  p.worker = ARGV[4]
  p.changed = true
  if CONNECTIONS > 1 then rest(q.name, p.delay) end
  left = left - taken
end

local before = given_before()
if before then return before end
if total('paused') == 1 then return '' end
take_back_lost()
wake_due(AT_ONCE)
wake()
while left > 0 do
  local q = best_queue()
  if not q then break end
  if opens_at(q.name) <= NOW then take_batch(q, math.min(left, BALANCE)) end
  settle(q)
  -- One that is ready still has another place among the others.
  if q.place == 'r' then ahead = {p = {at = 1, more = true}, r = {at = 1, more = true}} end
end
score_all(OWN .. 'leases', expiring)
score_all(SHARED .. 'slots', slots)
call_with_all('HSET', OWN .. 'batches', batches)
remember()
flush()
return table.concat(answer)
