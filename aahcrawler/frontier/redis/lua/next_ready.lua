-- Returns in how many microseconds a lease may succeed, -1 when none ever can, -2 when none can until somebody resumes what
-- is paused.
local soonest, holds = INFINITY, false

local function earliest(key)
  local top = call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return top[2] and tonumber(top[2]) or nil
end

local function parked()
  return call('ZCOUNT', OWN .. 'waiting', '+inf', '+inf') > 0
end

local function consider(time)
  if time and time < soonest then soonest = time end
end

local open, is_paused = pages_open(), total('paused') == 1
if not is_paused and ((open and earliest(OWN .. 'ready:p')) or earliest(OWN .. 'ready:r')) then return 0 end
if open or total('rq') > 0 then
  consider(earliest(OWN .. 'waiting'))
  if parked() then
    consider(earliest(SHARED .. 'slots'))
    holds = true
  end
end
consider(earliest(OWN .. 'leases'))
if total('due') > 0 then consider(NOW + math.max(total('due') - calendar(), 0)) end
if is_paused then
  holds = holds or soonest < INFINITY or (open and earliest(OWN .. 'ready:p')) or earliest(OWN .. 'ready:r')
  soonest = INFINITY
end
if soonest == INFINITY then return holds and -2 or -1 end
return math.ceil(math.max(soonest - NOW, 0))
