-- ARGV[3]: packed posts: wish, key and content of each before its offer; ARGV[4]: the reason of what is blocked.
-- Returns the version of the rules that URLs are to be matched with, and two letters a post: its effect, in capitals
-- where it had been applied before, and the state of its URL.

-- Effects are remembered by key, in one hash for days of even number and one for those of odd number.
local DAY = 86400000000
local today = math.floor(NOW / DAY)

local function memory(day)
  return OWN .. 'posted:' .. day % 2
end

local function is_of(day)
  return tonumber(call('HGET', memory(day), 'day')) == day
end

local holds_today, holds_yesterday = is_of(today), is_of(today - 1)

local function remembered(key)
  local kept = holds_today and call('HGET', memory(today), key)
  return kept or (holds_yesterday and call('HGET', memory(today - 1), key))
end

local function remember(key, effect, content)
  if not holds_today then
    call('UNLINK', memory(today))
    call('HSET', memory(today), 'day', today)
    holds_today = true
  end
  call('HSET', memory(today), key, effect .. content)
end

-- Tell a page from those that may be re-scored, and move it to the front if that is wished.
local function mark(fp, front)
  local r = read(fp)
  if r.front or (r.posted and not front) then return end
  r.front, r.posted = front, true
  if front then enqueue(r) end
  write(r)
end

local function standing(r)
  return r and r.kind .. r.value .. '/' .. r.offers
end

local function block(fp, r, state, kind, name, label)
  if r and state == 'l' then return 'k' end
  if state and not r then return state == 'b' and 'b' or 'k' end
  if r then
    withhold(r, ARGV[4])
  else
    tally(queue(name, label), kind, 'b', 1)
    ended(fp, kind, 'b', ARGV[4])
    known_now()
  end
  return 'b'
end

local function apply(wish, fp, kind, depth, value, name, label, body)
  local r, state = read(fp)
  if wish == 'b' then return block(fp, r, state, kind, name, label) end
  if state and not r then return 'k' end
  local before = standing(r)
  local effect = r and again(r, kind, depth, value) or add(fp, kind, depth, value, queue(name, label), body)
  local counts = not r or standing(r) ~= before
  if effect ~= 'k' and (wish == 'f' or counts) then mark(fp, wish == 'f') end
  return effect
end

local function state_of(fp)
  local _, state = read(fp)
  return state or '-'
end

local packed, at, answers = ARGV[3], 1, {}
local wish, key, content, fp, kind, depth, value, name, label, body
while at <= #packed do
  wish, key, content, fp, kind, depth, value, name, label, body, at =
    struct.unpack('>c1c12c4c8c1I2dc6Bc0I4c0', packed, at)
  local kept = remembered(key)
  if kept and kept:sub(2) ~= content then
    answers[#answers + 1] = '!-'
  elseif kept then
    answers[#answers + 1] = kept:sub(1, 1):upper() .. state_of(fp)
  else
    local effect = apply(wish, fp, kind, depth, value, name, label, body)
    if effect ~= 'k' then remember(key, effect, content) end
    answers[#answers + 1] = effect .. state_of(fp)
  end
end
local version = total('rules')
flush()
return {version, table.concat(answers)}
