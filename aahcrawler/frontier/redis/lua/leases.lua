-- How a lease ends.

-- Let go of a leased URL; its connection comes back with the last URL of the batch.
local function unlease(r)
  call('ZREM', OWN .. 'leases', r.fp)
  if r.alone then
    free_slot(r.queue, ARGV[1], r.batch)
  elseif call('HINCRBY', OWN .. 'batches', r.batch, -1) <= 0 then
    call('HDEL', OWN .. 'batches', r.batch)
    free_slot(r.queue, ARGV[1], r.batch)
  end
  tally(queue(r.queue), r.kind, 'l', -1)
end

local function requeue(r)
  unlease(r)
  enqueue(r)
  write(r)
  tally(queue(r.queue), r.kind, 'q', 1)
end

-- End a URL; `batch` is that of the lease that a worker ends it with, nil where it is the frontier that does.
local function conclude(r, state, reason, batch)
  unlease(r)
  tally(queue(r.queue), r.kind, state, 1)
  ended(r.fp, r.kind, state, reason, batch)
end

-- Add to the crawl's numbers: name and amount in turn, from argument `first` on.
local function add_tallies(first)
  for i = first, #ARGV, 2 do
    call('HINCRBYFLOAT', OWN .. 'tallies', ARGV[i], ARGV[i + 1])
  end
end

-- The record of a lease that still holds; otherwise nil, the URL's state and what is kept of it.
local function holding(fp, token)
  local r, state, raw = read(fp)
  if state == 'l' and token_of(r) == token then return r end
  return nil, state, raw
end
