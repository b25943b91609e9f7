-- URLs that keep their record without being queued: blocked ones (state b), which can be put back, and pages that are done
-- and due again later (w).

-- When pages are due is a matter of the calendar, which goes on while nobody calls: not of NOW.
local function calendar()
  local given = struct.unpack('>d', ARGV[2])
  if given >= 0 then return given end
  local time = call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function count_reason(reason, by)
  if reason ~= '' and call('HINCRBY', OWN .. 'reasons', reason, by) <= 0 then
    call('HDEL', OWN .. 'reasons', reason)
  end
end

-- Block a URL that is counted nowhere; `due` is below 0 for one that was queued.
local function hold(r, reason, due)
  r.state = 'b'
  write(r)
  call('HSET', OWN .. 'held', r.fp, struct.pack('>d', due) .. reason)
  tally(queue(r.queue), r.kind, 'b', 1)
  count_reason(reason, 1)
end

-- Keep in mind when the first page is due: 0 for none.
local function note_due()
  local top = call('ZRANGE', OWN .. 'due', 0, 0, 'WITHSCORES')
  count('due', tonumber(top[2] or 0) - total('due'))
end

-- Pages that are due count as done as well, in their crawl and in their queue, so that they take up their place.
local function make_due(r, due)
  r.state = 'w'
  write(r)
  call('ZADD', OWN .. 'due', string.format('%.0f', due), r.fp)
  count('pw', 1)
end

local function end_due(r)
  call('ZREM', OWN .. 'due', r.fp)
  count('pw', -1)
end

local function queue_again(r)
  enqueue(r)
  write(r)
  tally(queue(r.queue), r.kind, 'q', 1)
end

-- Block a queued or due URL; return whether it was one.
local function withhold(r, reason)
  if r.state == 'q' then
    dequeue(r)
    tally(queue(r.queue), r.kind, 'q', -1)
    hold(r, reason, -1)
  elseif r.state == 'w' then
    local due = tonumber(call('ZSCORE', OWN .. 'due', r.fp))
    end_due(r)
    note_due()
    tally(queue(r.queue), r.kind, 'd', -1)
    hold(r, reason, due)
  else
    return false
  end
  return true
end

-- Put a blocked URL back to where it was; where a reason is given, block it for that one instead.
local function put_back(r, reason)
  local kept = call('HGET', OWN .. 'held', r.fp)
  local due, at = struct.unpack('>d', kept)
  count_reason(kept:sub(at), -1)
  call('HDEL', OWN .. 'held', r.fp)
  tally(queue(r.queue), r.kind, 'b', -1)
  if reason ~= '' then
    hold(r, reason, due)
  elseif due < 0 then
    queue_again(r)
  else
    tally(queue(r.queue), r.kind, 'd', 1)
    make_due(r, due)
    note_due()
  end
end

-- Queue what is due by now.
local function wake_due(most)
  local due = total('due')
  local today = due > 0 and calendar()
  if not today or due > today then return end
  for _, fp in ipairs(call('ZRANGEBYSCORE', OWN .. 'due', '-inf', today, 'LIMIT', 0, most)) do
    local r = read(fp)
    end_due(r)
    tally(queue(r.queue), r.kind, 'd', -1)
    queue_again(r)
    settle(queue(r.queue))
  end
  note_due()
end
