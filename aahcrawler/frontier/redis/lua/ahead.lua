-- ARGV[3]: fingerprint of a URL. Returns how many URLs of its queue come before it, -1 where it is not queued.
local r, state = read(ARGV[3])
if not r or state ~= 'q' then return -1 end
local q = queue(r.queue, '')

-- Those of a kind before a place: before a member, where one is given, of those with this very rank.
local function before(kind, best, m, bound)
  local key, number = root(q, kind), 0
  local last = key
  if q[kind].chunked then
    local entry
    last, entry = home(q, kind, best, m)
    for _, each in ipairs(call('ZRANGEBYLEX', key, '-', '(' .. entry)) do
      number = number + call('ZCARD', chunk_key(key, each))
    end
  end
  if bound then return number + call('ZCOUNT', last, '-inf', bound) end
  return number + (call('ZRANK', last, m) or 0)
end

local best, m = rank(r), member(r)
local written = string.format('%.0f', best)
local number = before(r.kind, best, m)
if r.kind == 'p' then
  if q.requisites > 0 then number = number + before('r', best, string.rep('\255', 13), written) end
elseif q.pages > 0 then
  number = number + before('p', best, '', '(' .. written)
end
return number
