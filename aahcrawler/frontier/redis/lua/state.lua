-- Keys and the counts of one call; the other scripts follow in the same chunk.
--
-- KEYS[1] is the hash tag of a partition, so that every key below lies in one slot of a cluster.
-- ARGV[1] names the crawl, ARGV[2] packs the settings of the call. Times are microseconds, scores millionths.
-- A queue is known by the six bytes that its name is hashed to, a URL by eight: records.queue_id, records.fingerprint.
--
-- Shared by all crawls of the partition (SHARED):
--   queues        hash   queue -> politeness: opens at, usual delay, connections out, what was learned, paused, whose they are
--   paused        hash   queues that are paused -> name
--   slots         zset   queue, crawl, NUL and batch, by expiry: one member a connection that is out
--   parked:QUEUE  set    crawls whose queue waits for a connection to come back
--   asked:ID      string what the last call that leased something was answered (lease.lua); expires
--   clock         string a time by the server's wall clock, and what time it was for the partition (clock.lua)
-- Of one crawl (OWN):
--   u:N           hash   fingerprint -> record, or how the URL ended (records.lua); their number grows with the crawl
--   queues        hash   queue -> where it stands, its heads, its counts, its name
--   p:QUEUE       zset   queued pages, r:QUEUE queued requisites: member sequence (5 bytes) and fingerprint (order.lua)
--   ready:p       zset   queues by their best page, ready:r by their best requisite: member sequence and queue
--   waiting       zset   queues by when they open; infinity while every connection is out
--   leases        zset   fingerprints by expiry; batches: hash batch -> URLs out, of batches of several
--   posted:0, posted:1  hash  key of a post -> its effect and content; `day`: which day's posts these are
--   counts        hash   kind and state -> URLs; `queues`, `sequence`, `batch`, `urls` and `buckets` beside them, and what
--                        operators have said: `paused`, the version of the `rules`, when the first page is `due` again
--   rules         hash   rules that name URLs not to be leased
--   held          hash   fingerprint of a blocked URL that kept its record -> when it is due again, reason
--   due           zset   fingerprints of pages that are done, by when they are due again
--   reasons       hash   why URLs were blocked or failed -> URLs
--   tallies       hash   the crawl's own numbers, which grow with its URLs
--   sessions      hash   what each site knows the crawl by (session_store.py)

local SHARED = KEYS[1] .. ':s:'
local OWN = KEYS[1] .. ':c:' .. ARGV[1] .. ':'
local NOW, UPDATE, BALANCE, PAGES, QUEUE_PAGES, LEASE, ATTEMPTS, CONNECTIONS, LOAD, CHUNK =
  struct.unpack('>dc1I4I4I4dI4I4I2I2', ARGV[2])
local call = redis.call
local INFINITY = math.huge
local UNBOUNDED = 4294967295

local totals
local changed = {}

local function total(field)
  if not totals then
    totals = {}
    local kept = call('HGETALL', OWN .. 'counts')
    for i = 1, #kept, 2 do totals[kept[i]] = tonumber(kept[i + 1]) end
  end
  return totals[field] or 0
end

local function count(field, by)
  local now = total(field) + by
  totals[field] = now
  changed[field] = true
end

local function next_number(field)
  count(field, 1)
  return totals[field]
end

-- What is written at the end of a call, many members at once: of each the last that was said. A key has to be written
-- down before it is read.
local MEMBERS_AT_ONCE = 1000
local scored, fields = {}, {}

local function noted(notes, key, member, value)
  local of_key = notes[key]
  if not of_key then
    of_key = {}
    notes[key] = of_key
  end
  of_key[member] = value
end

-- Give a member of a zset a score, or take it out (false).
local function note_score(key, member, score)
  noted(scored, key, member, score)
end

local function note_field(key, field, value)
  noted(fields, key, field, value)
end

-- A server looks through all of a small zset for each member that comes in. From a member on that is as long as this it
-- keeps one as a tree, until all members are gone.
local MANY, LARGE, LONG = 16, 128, string.rep('-', 128)

local function call_with_all(command, key, values)
  for first = 1, #values, MEMBERS_AT_ONCE do
    call(command, key, unpack(values, first, math.min(first + MEMBERS_AT_ONCE - 1, #values)))
  end
end

-- Give members of a zset their scores: score and member in turn.
local function score_all(key, values)
  local is_to_grow = #values >= 2 * MANY and call('ZCARD', key) <= LARGE
  if is_to_grow then call('ZADD', key, '0', LONG) end
  call_with_all('ZADD', key, values)
  if is_to_grow then call('ZREM', key, LONG) end
end

local function write_down()
  for key, members in pairs(scored) do
    local out, into = {}, {}
    for member, score in pairs(members) do
      if score then
        into[#into + 1], into[#into + 2] = score, member
      else
        out[#out + 1] = member
      end
    end
    call_with_all('ZREM', key, out)
    score_all(key, into)
  end
  for key, of_key in pairs(fields) do
    local values = {}
    for field, value in pairs(of_key) do
      values[#values + 1], values[#values + 2] = field, value
    end
    call_with_all('HSET', key, values)
  end
  scored, fields = {}, {}
end

local function write_counts()
  for field in pairs(changed) do
    note_field(OWN .. 'counts', field, string.format('%.0f', totals[field]))
  end
end
