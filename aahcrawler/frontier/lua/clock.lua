-- The wall clock of the server may jump, and the server may be away. Time of the partition does neither: it never runs
-- backwards, and between two calls it runs on by STRIDE at most. So neither makes leases run out or queues stand still.

local STRIDE, REFRESHED = 10000000, 1000000

local function time_of_partition()
  local time = call('TIME')
  local wall = tonumber(time[1]) * 1000000 + tonumber(time[2])
  local kept = call('GET', SHARED .. 'clock')
  local wall_then, then_ = wall, wall
  if kept then wall_then, then_ = struct.unpack('>dd', kept) end
  local now = then_ + math.min(math.max(wall - wall_then, 0), STRIDE)
  if not kept or wall < wall_then or wall >= wall_then + REFRESHED then
    call('SET', SHARED .. 'clock', struct.pack('>dd', wall, now))
  end
  return now
end

if NOW < 0 then NOW = time_of_partition() end
