-- Politeness, shared by all crawls of the partition.

local POLITE = '>ddI4dB'
local POLITENESS, politeness = SHARED .. 'queues', {}

local function polite(name)
  local p = politeness[name]
  if not p then
    p = {opens = 0, delay = 0, out = 0, learned = 0, paused = 0, worker = ''}
    local raw = call('HGET', POLITENESS, name)
    if raw then
      local at
      p.opens, p.delay, p.out, p.learned, p.paused, at = struct.unpack(POLITE, raw)
      p.worker = raw:sub(at)
    end
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

-- Keep what a site is known to ask for; nothing said leaves it as it is.
local function learn(name, said)
  local learned = tonumber(said)
  local p = polite(name)
  if learned and learned ~= p.learned then
    p.learned = learned
    p.changed = true
  end
end

local function opens_at(name)
  local p = polite(name)
  if p.out >= CONNECTIONS or p.paused == 1 then return INFINITY end
  return p.opens
end

local function slot(name, crawl, batch)
  return name .. crawl .. '\0' .. batch
end

local function wake_crawl(crawl, name, opens)
  call('ZADD', KEYS[1] .. ':c:' .. crawl .. ':waiting', 'XX', opens, name)
end

-- Let all crawls look again at a queue that none could lease from.
local function unpark(name)
  local parked = call('SMEMBERS', SHARED .. 'parked:' .. name)
  for _, crawl in ipairs(parked) do wake_crawl(crawl, name, polite(name).opens) end
  if parked[1] then call('DEL', SHARED .. 'parked:' .. name) end
end

local function free_slot(name, crawl, batch)
  if call('ZREM', SHARED .. 'slots', slot(name, crawl, batch)) == 0 then return end
  local p = polite(name)
  p.out = math.max(p.out - 1, 0)
  if p.out == 0 then p.worker = '' end
  p.changed = true
  unpark(name)
  if crawl ~= ARGV[1] then wake_crawl(crawl, name, p.opens) end
end

local function write_politeness()
  for name, p in pairs(politeness) do
    if p.changed and p.out == 0 and p.delay == 0 and p.learned == 0 and p.paused == 0 and p.opens <= NOW then
      call('HDEL', POLITENESS, name)
    elseif p.changed then
      note_field(POLITENESS, name, struct.pack(POLITE, p.opens, p.delay, p.out, p.learned, p.paused)
        .. p.worker)
    end
  end
end
