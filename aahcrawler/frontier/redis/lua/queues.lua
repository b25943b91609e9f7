-- Queues of the crawl: where each stands, its best URLs, its counts.

local QUEUE = '>c1BI5dBI5dI4I4I4I4'
local EMPTY = struct.pack(QUEUE, '-', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
local QUEUES, WAITING, READY = OWN .. 'queues', OWN .. 'waiting', {p = OWN .. 'ready:p', r = OWN .. 'ready:r'}
local queues = {}

-- The best URL of one kind: its sequence (0: none) and rank, and as what it stands among the ready ones.
local function new_head(flags, sequence, best)
  return {sequence = sequence, best = best, listed = flags % 2 == 1, chunked = flags >= 2, old_sequence = sequence,
    old_best = best}
end

-- A queue by its id; its name has to be given where it may be new.
local function queue(name, label)
  local q = queues[name]
  if not q then
    local raw = call('HGET', QUEUES, name) or EMPTY .. label
    local place, page_flags, page, page_best, requisite_flags, requisite, requisite_best, pages, requisites, leased,
      done, at = struct.unpack(QUEUE, raw)
    q = {name = name, label = raw:sub(at), place = place, p = new_head(page_flags, page, page_best),
      r = new_head(requisite_flags, requisite, requisite_best), pages = pages, requisites = requisites,
      leased = leased, done = done, held = pages + requisites > 0}
    queues[name] = q
  end
  q.settled = false
  return q
end

-- How many more pages may be leased; of a queue, where one is given.
local function pages_left(q)
  local left = PAGES < UNBOUNDED and PAGES - total('pl') - total('pd') or INFINITY
  return q and QUEUE_PAGES > 0 and math.min(left, QUEUE_PAGES - q.leased - q.done) or left
end

local function pages_open(q)
  return pages_left(q) > 0
end

-- Let a URL be the best of its queue and kind where it is that.
local function rise(head, best, sequence)
  if head.sequence == 0 or best < head.best or (best == head.best and sequence < head.sequence) then
    head.sequence, head.best = sequence, best
  end
end

-- Queue a URL, or move it to where its score belongs now.
local function enqueue(r)
  local best, q, m = rank(r), queue(r.queue), member(r)
  r.state = 'q'
  if r.placed == best then return end
  put_added(q, r.kind)
  if r.placed then
    move(q, r.kind, r.placed, best, m)
  else
    put_in(q, r.kind, best, m)
  end
  r.placed = best
  local head = q[r.kind]
  if head.sequence == r.sequence then
    head.stale = head.stale or best > head.best
    head.best = best
  else
    rise(head, best, r.sequence)
  end
end

-- Take a queued URL out of its queue; the caller counts it.
local function dequeue(r)
  local q = queue(r.queue)
  put_added(q, r.kind)
  take_out(q, r.kind, r.placed, member(r))
  r.placed = nil
  local head = q[r.kind]
  head.stale = head.stale or head.sequence == r.sequence
end

local function refresh(q, kind)
  local head = q[kind]
  if head.stale then
    local top = {}
    if (kind == 'p' and q.pages or q.requisites) > 0 then
      top = call('ZRANGE', (first_chunk(q, kind)), '0', '0', 'WITHSCORES')
    end
    set_head(head, top)
  end
  return head
end

local function list(q, kind, wanted)
  local head = refresh(q, kind)
  if not wanted and not head.listed then return head.chunked and 2 or 0 end
  local ready = READY[kind]
  local moved = head.sequence ~= head.old_sequence
  if head.listed and (moved or not wanted) then
    note_score(ready, struct.pack('>I5', head.old_sequence) .. q.name, false)
  end
  if wanted and (moved or not head.listed or head.best ~= head.old_best) then
    note_score(ready, struct.pack('>I5', head.sequence) .. q.name, head.best)
  end
  head.listed, head.old_sequence, head.old_best = wanted, head.sequence, head.best
  return (wanted and 1 or 0) + (head.chunked and 2 or 0)
end

-- Whether a queue is ready, waits, or stands nowhere while nothing of it may be leased. A call that
-- has not looked at its politeness cannot have changed it.
local function place(q, eligible)
  if not eligible then
    if q.place == 'w' then note_score(WAITING, q.name, false) end
    return '-'
  end
  if q.place ~= '-' and not politeness[q.name] then return q.place end
  local opens = opens_at(q.name)
  if opens > NOW then
    note_score(WAITING, q.name, opens == INFINITY and '+inf' or opens)
    -- Whoever frees the only connection tells the crawl that holds it.
    if opens == INFINITY and not (q.taken and CONNECTIONS == 1) then
      call('SADD', SHARED .. 'parked:' .. q.name, ARGV[1])
    end
    return 'w'
  end
  if q.place == 'w' then note_score(WAITING, q.name, false) end
  return 'r'
end

-- Put a queue where it belongs and write it down, unless nobody has asked for it since that was done.
local function settle(q)
  if q.settled then return end
  q.settled = true
  put_added(q, 'p')
  put_added(q, 'r')
  local page = q.pages > 0 and (QUEUE_PAGES == 0 or q.leased + q.done < QUEUE_PAGES)
  local requisite = q.requisites > 0
  q.place = place(q, page or requisite)
  local page_flags = list(q, 'p', page and q.place == 'r')
  local requisite_flags = list(q, 'r', requisite and q.place == 'r')
  local holds = q.pages + q.requisites > 0
  if holds ~= q.held then
    count('queues', holds and 1 or -1)
    q.held = holds
  end
  note_field(QUEUES, q.name, struct.pack(QUEUE, q.place, page_flags, q.p.sequence, q.p.best,
    requisite_flags, q.r.sequence, q.r.best, q.pages, q.requisites, q.leased, q.done) .. q.label)
end

-- Write down what the call changed; nothing may be read or changed afterwards.
local function flush()
  for _, q in pairs(queues) do settle(q) end
  write_politeness()
  write_counts()
  write_down()
end

-- Count a URL into a state of its queue (by 1) or out of it (by -1).
local function tally(q, kind, state, by)
  count(kind .. state, by)
  if kind == 'r' then
    if state == 'q' then q.requisites = q.requisites + by end
  elseif state == 'q' then
    q.pages = q.pages + by
  elseif state == 'l' then
    q.leased = q.leased + by
  elseif state == 'd' then
    q.done = q.done + by
  end
end
