-- ARGV from 3: fingerprint of each URL, what was kept of it, and when and why it was held. The names of their queues are told
-- afterwards. A URL that comes twice is taken as it came first. Returns how many were taken.

local function take_in(fp, raw, kept)
  local _, is_known = read(fp)
  if is_known then return 0 end
  call('HSET', bucket(fp), fp, raw)
  local r, state = read(fp)
  if r then queue(r.queue, '') end
  if not r then
    count((raw:sub(1, 1) == state and 'p' or 'r') .. state, 1)
    count_reason(raw:sub(4), 1)
  elseif state == 'b' and kept ~= '' then
    call('HSET', OWN .. 'held', fp, kept)
    tally(queue(r.queue), r.kind, 'b', 1)
    count_reason(kept:sub(9), 1)
  elseif state == 'w' and kept ~= '' then
    call('ZADD', OWN .. 'due', string.format('%.0f', struct.unpack('>d', kept)), fp)
    count('pw', 1)
    count('pd', 1)
  else
    if state == 'l' then r.attempt = math.max(r.attempt - 1, 0) end
    r.placed = nil
    queue_again(r)
  end
  known_now()
  return 1
end

local taken = 0
for i = 3, #ARGV, 3 do taken = taken + take_in(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
note_due()
flush()
return taken
