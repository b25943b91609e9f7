-- Returns in how many microseconds a lease may succeed, -1 when none can.
local soonest = INFINITY

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

local open = pages_open()
if (open and earliest(OWN .. 'ready:p')) or earliest(OWN .. 'ready:r') then return 0 end
if open or total('rq') > 0 then
  consider(earliest(OWN .. 'waiting'))
  if parked() then consider(earliest(SHARED .. 'slots')) end
end
consider(earliest(OWN .. 'leases'))
if soonest == INFINITY then return -1 end
return math.ceil(math.max(soonest - NOW, 0))
