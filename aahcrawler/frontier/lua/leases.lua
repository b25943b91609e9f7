-- How a lease ends.

-- Let go of a leased URL; its connection comes back with the last URL of the batch.
local function unlease(r, token)
  call('ZREM', OWN .. 'leases', r.fp)
  call('HDEL', OWN .. 'tokens', r.fp)
  local batch = token:match('^%d+')
  if call('HINCRBY', OWN .. 'batches', batch, -1) <= 0 then
    call('HDEL', OWN .. 'batches', batch)
    free_slot(r.queue, ARGV[1], batch)
  end
  tally(queue(r.queue), r.kind, 'l', -1)
end

local function requeue(r, token)
  unlease(r, token)
  enqueue(r)
  write(r)
  tally(queue(r.queue), r.kind, 'q', 1)
end

local function conclude(r, token, state, reason)
  unlease(r, token)
  tally(queue(r.queue), r.kind, state, 1)
  call('HSET', OWN .. 'u:' .. r.fp:sub(1, 2), r.fp:sub(3), state .. reason)
  if reason ~= '' then call('HINCRBY', OWN .. 'reasons', reason, 1) end
end

-- Add to the crawl's numbers: name and amount in turn, from argument `first` on.
local function add_tallies(first)
  for i = first, #ARGV, 2 do
    call('HINCRBYFLOAT', OWN .. 'tallies', ARGV[i], ARGV[i + 1])
  end
end

-- The record of a lease that still holds, and nil and the URL's state otherwise.
local function holding(fp, token)
  if call('HGET', OWN .. 'tokens', fp) ~= token then
    local _, state = read(fp)
    return nil, state
  end
  return read(fp)
end
