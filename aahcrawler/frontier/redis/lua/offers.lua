-- Offers, packed one after the other into one value.

-- Negative values say nothing of a URL: protocol.UNSCORED.
local function rescored(r, value)
  local old = score(r)
  if value < 0 then return r.value, r.offers
  elseif old < 0 then return value, 1
  elseif UPDATE == 'l' then return value, 1
  elseif UPDATE == 'm' then return math.max(old, value), 1
  elseif UPDATE == 's' then return old + value, 1
  elseif UPDATE == 'a' then return r.value + value, r.offers + 1
  end
  return r.value, r.offers
end

-- Queue a URL that was not known before. It gets no table of its own: most offers end here.
local function add(fp, kind, depth, value, q, body)
  local sequence, best = next_number('sequence'), -math.min(value, BEST)
  if kind == 'p' and value <= NARROW then
    call('HSET', bucket(fp), fp, struct.pack(PLAIN, RECORD, 0, depth, q.name, sequence, value) .. body)
  else
    write({fp = fp, state = 'q', kind = kind, attempt = 0, depth = depth, offers = 1, value = value,
      sequence = sequence, queue = q.name, body = body})
  end
  q.settled = false
  put_later(q, kind, best, struct.pack('>I5', sequence) .. fp)
  rise(q[kind], best, sequence)
  tally(q, kind, 'q', 1)
  known_now()
  return 'a'
end

local function promote(r, value)
  dequeue(r)
  local q = queue(r.queue)
  tally(q, 'r', 'q', -1)
  tally(q, 'p', 'q', 1)
  r.kind, r.value, r.offers = 'p', value, 1
end

local function again(r, kind, depth, value)
  if r.state ~= 'q' or (r.kind == 'p' and kind == 'r') then return 'k' end
  local old_value, old_offers, old_depth, old_kind = r.value, r.offers, r.depth, r.kind
  if r.kind == 'r' and kind == 'p' then
    promote(r, value)
  else
    r.value, r.offers = rescored(r, value)
  end
  r.depth = math.min(r.depth, depth)
  if r.value ~= old_value or r.offers ~= old_offers or r.kind ~= old_kind then
    enqueue(r)
    write(r)
  elseif r.depth ~= old_depth then
    write(r)
  end
  return 'r'
end

-- Whether an offer of a page changes nothing of a queued one: so it is with most links of a crawl, and their records need
-- no table then.
local function says_nothing_new(raw, depth, value)
  if raw:byte(1) ~= RECORD then return false end
  local old_depth = struct.unpack('>I2', raw, 3)
  local old = struct.unpack('>i4', raw, HEAD_BYTES + 1)
  return depth >= old_depth and (value < 0 or (old >= 0 and (UPDATE == 'f' or (UPDATE == 'm' and value <= old))))
end

local function offer_all(packed)
  local at, answers, number = 1, {}, 0
  local fp, kind, depth, value, name, label_bytes, body_bytes
  while at <= #packed do
    fp, kind, depth, value, name, label_bytes, at = struct.unpack('>c8c1I2dc6B', packed, at)
    local label_at, raw, answer = at, kept_of(fp), nil
    body_bytes, at = struct.unpack('>I4', packed, at + label_bytes)
    if not raw then
      local q = queues[name] or queue(name, packed:sub(label_at, label_at + label_bytes - 1))
      answer = add(fp, kind, depth, value, q, packed:sub(at, at + body_bytes - 1))
    elseif kind == 'p' and says_nothing_new(raw, depth, value) then
      answer = 'r'
    else
      local r = parsed(fp, raw)
      answer = r and again(r, kind, depth, value) or 'k'
    end
    number = number + 1
    answers[number] = answer
    at = at + body_bytes
  end
  return table.concat(answers)
end
