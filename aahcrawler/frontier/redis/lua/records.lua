-- What is kept of each URL, in hashes that stay small: their number grows with the crawl by linear hashing (W. Litwin,
-- VLDB 1980), one more for every LOAD URLs, so that none grows beyond what servers keep packed.
--
-- A record begins with its flags, from 128 on; after HEAD come the value (a wide one has eight bytes), the number of
-- offers where there were several, time and batch of the lease or the letter of a state in which a URL is neither queued
-- nor leased, and what the client made of the URL (body). A lease can be alone in its batch.
-- An ended URL has a letter, d(one) f(ailed) b(locked), a capital one for requisites; two bytes that tell which lease
-- ended it; and the reason.

local RECORD, LEASED, REQUISITE, POSTED, FRONT, WIDE, SEVERAL, ALONE, HELD = 128, 1, 2, 4, 8, 16, 32, 64, 64
local band = bit.band
local HEAD, HEAD_BYTES = '>BBI2c6I5', 15
-- Of most URLs: queued pages with one offer.
local PLAIN, PLAIN_BYTES = '>BBI2c6I5i4', 19
local NARROW = 2147483647
local MOST_ATTEMPTS = 255
ATTEMPTS = math.min(ATTEMPTS, MOST_ATTEMPTS)
-- A move of more fields than this would not fit on the stack of the script.
local AT_ONCE = 1000

-- The greatest power of two that is not above a number of buckets.
local function base_for(buckets)
  local base = 1
  while base * 2 <= buckets do base = base * 2 end
  return base
end

local function bucket_number(fp, buckets, base)
  local number = struct.unpack('>I4', fp, 5) % (base * 2)
  return number < buckets and number or number - base
end

local BUCKET = OWN .. 'u:'
local last, last_key, buckets, base

local function bucket(fp)
  if fp ~= last then
    if not buckets then
      buckets = math.max(total('buckets'), 1)
      base = base_for(buckets)
    end
    last, last_key = fp, BUCKET .. bucket_number(fp, buckets, base)
  end
  return last_key
end

-- Take one more bucket into use: it gets those URLs of an older one that belong there now.
local function grow()
  local number = math.max(total('buckets'), 1)
  local old, new = BUCKET .. number - base_for(number), BUCKET .. number
  local kept, moved, fields, new_base = call('HGETALL', old), {}, {}, base_for(number + 1)
  for i = 1, #kept, 2 do
    if bucket_number(kept[i], number + 1, new_base) == number then
      moved[#moved + 1], moved[#moved + 2] = kept[i], kept[i + 1]
      fields[#fields + 1] = kept[i]
    end
    if #fields == AT_ONCE or (i == #kept - 1 and fields[1]) then
      call('HSET', new, unpack(moved))
      call('HDEL', old, unpack(fields))
      moved, fields = {}, {}
    end
  end
  count('buckets', number + 1 - total('buckets'))
  last, buckets = nil, nil
end

-- Count a URL that was not known before; to be called once it is written.
local function known_now()
  count('urls', 1)
  if totals.urls > LOAD * math.max(total('buckets'), 1) then grow() end
end

-- Pages at the front stand above all scores, and among themselves by score.
local BEST = 999999999999999
local ABOVE = 1e15

local function score(r)
  if r.offers == 1 then return r.value end
  return math.floor(r.value / r.offers + 0.5)
end

-- What queued URLs are sorted by, the best first.
local function rank(r)
  return -math.min(score(r), BEST) - (r.front and ABOVE or 0)
end

local function token_of(r)
  return string.format('%.0f-%.0f', r.batch, r.since)
end

-- What is kept of a URL as it stands; false for nothing.
local function kept_of(fp)
  return call('HGET', bucket(fp), fp)
end

-- The record of a URL that has not ended, or nil; its state; and what is kept of it as it stands.
local function parsed(fp, raw)
  if not raw then return nil, false end
  if raw:byte(1) < RECORD then return nil, raw:sub(1, 1):lower(), raw end
  if raw:byte(1) == RECORD then
    local _, attempt, depth, name, sequence, value = struct.unpack(PLAIN, raw)
    return {fp = fp, state = 'q', kind = 'p', attempt = attempt, depth = depth, queue = name, sequence = sequence,
      offers = 1, value = value, placed = -value, body = raw:sub(PLAIN_BYTES + 1)}, 'q', raw
  end
  local flags, attempt, depth, name, sequence, at = struct.unpack(HEAD, raw)
  local r = {fp = fp, attempt = attempt, depth = depth, queue = name, sequence = sequence, offers = 1}
  r.value, at = struct.unpack(band(flags, WIDE) ~= 0 and '>d' or '>i4', raw, at)
  if band(flags, SEVERAL) ~= 0 then r.offers, at = struct.unpack('>I4', raw, at) end
  r.kind = band(flags, REQUISITE) ~= 0 and 'r' or 'p'
  r.posted, r.front = band(flags, POSTED) ~= 0, band(flags, FRONT) ~= 0
  if band(flags, LEASED) ~= 0 then
    r.state, r.alone = 'l', band(flags, ALONE) ~= 0
    r.since, r.batch, at = struct.unpack('>dI5', raw, at)
  elseif band(flags, HELD) ~= 0 then
    r.state, at = struct.unpack('>c1', raw, at)
  else
    r.state, r.placed = 'q', rank(r)
  end
  r.body = raw:sub(at)
  return r, r.state, raw
end

local function read(fp)
  return parsed(fp, kept_of(fp))
end

local function packed_record(r)
  local flags = RECORD
  local value, several, more = '>i4', '', ''
  if r.state == 'l' then
    flags = flags + LEASED + (r.alone and ALONE or 0)
    more = struct.pack('>dI5', r.since, r.batch)
  elseif r.state ~= 'q' then
    flags, more = flags + HELD, r.state
  end
  if r.kind == 'r' then flags = flags + REQUISITE end
  if r.posted then flags = flags + POSTED end
  if r.front then flags = flags + FRONT end
  if r.value > NARROW or r.value < -NARROW then flags, value = flags + WIDE, '>d' end
  if r.offers > 1 then flags, several = flags + SEVERAL, struct.pack('>I4', r.offers) end
  return struct.pack(HEAD, flags, r.attempt, r.depth, r.queue, r.sequence) .. struct.pack(value, r.value) .. several
    .. more .. r.body
end

local function write(r)
  local raw
  if r.state == 'q' and r.kind == 'p' and r.offers == 1 and not r.posted and r.value <= NARROW then
    raw = struct.pack(PLAIN, RECORD, r.attempt, r.depth, r.queue, r.sequence, r.value) .. r.body
  else
    raw = packed_record(r)
  end
  call('HSET', bucket(r.fp), r.fp, raw)
  return raw
end

-- Lease a queued URL; of a lease is given what its record says of it, and its flags. Returns the record. Of that nothing
-- else changes but the attempt: most of a URL's record is nobody's business then.
local function leased(fp, lease, flags)
  local key = bucket(fp)
  local raw = call('HGET', key, fp)
  local before, attempt = raw:byte(1, 2)
  local middle = before == RECORD and PLAIN_BYTES
    or HEAD_BYTES + (band(before, WIDE) ~= 0 and 8 or 4) + (band(before, SEVERAL) ~= 0 and 4 or 0)
  if attempt < MOST_ATTEMPTS then attempt = attempt + 1 end
  raw = string.char(before + flags, attempt) .. raw:sub(3, middle) .. lease
    .. raw:sub(middle + 1)
  call('HSET', key, fp, raw)
  return raw
end

-- Which lease ended a URL, in two bytes: never those of a URL that none has ended.
local function mark_of(batch)
  return struct.pack('>I2', batch % 65535 + 1)
end

-- Keep of a URL nothing but that it ended; `batch` is nil where no worker ended it.
local function ended(fp, kind, state, reason, batch)
  local letter = kind == 'r' and state:upper() or state
  call('HSET', bucket(fp), fp, letter .. (batch and mark_of(batch) or '\0\0') .. reason)
  if reason ~= '' then call('HINCRBY', OWN .. 'reasons', reason, 1) end
end
