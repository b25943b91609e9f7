-- The wall clock of the server may jump, and the server may be away. Time of the partition does neither: it never runs
-- backwards, and between two calls of a worker it runs on by no more than has passed for that worker. So neither makes
-- leases run out, sites wait, or fetches begin too early.
--
-- NOW is the time itself, or below zero: then -1 - NOW has passed since the caller called before. The last call of
-- anybody was no earlier than that, and what is kept is not older than that call by more than REFRESHED.

local REFRESHED = 10000

local function time_of_partition(passed)
  local time = call('TIME')
  local wall = tonumber(time[1]) * 1000000 + tonumber(time[2])
  local kept = call('GET', SHARED .. 'clock')
  local wall_then, then_ = wall, wall
  if kept then wall_then, then_ = struct.unpack('>dd', kept) end
  local now = then_ + math.min(math.max(wall - wall_then, 0), passed + REFRESHED)
  if not kept or wall < wall_then or wall >= wall_then + REFRESHED then
    call('SET', SHARED .. 'clock', struct.pack('>dd', wall, now))
  end
  return now
end

if NOW < 0 then NOW = time_of_partition(-1 - NOW) end
