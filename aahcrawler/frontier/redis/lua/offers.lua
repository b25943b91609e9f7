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

local function add(fp, kind, depth, value, name, label, body)
  local q = queue(name, label)
  local r = {fp = fp, state = 'q', kind = kind, attempt = 0, depth = depth, offers = 1, value = value,
    sequence = next_number('sequence'), queue = name, body = body}
  enqueue(r)
  write(r)
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

local function offer_all(packed)
  local at, answers = 1, {}
  local fp, kind, depth, value, name, label, body
  while at <= #packed do
    fp, kind, depth, value, name, label, body, at = struct.unpack('>c8c1I2dc6Bc0I4c0', packed, at)
    local r, state = read(fp)
    if r then
      answers[#answers + 1] = again(r, kind, depth, value)
    else
      answers[#answers + 1] = state and 'k' or add(fp, kind, depth, value, name, label, body)
    end
  end
  return table.concat(answers)
end
