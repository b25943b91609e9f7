-- ARGV[3]: packed offers; ARGV[4]: in how many microseconds each is due. Returns 1 or 0 for each: whether it was done, or due
-- before.
local packed, at, answers, waits, now = ARGV[3], 1, {}, 1, calendar()
local fp, kind, depth, value, name, label, body, wait
while at <= #packed do
  fp, kind, depth, value, name, label, body, at = struct.unpack('>c8c1I2dc6Bc0I4c0', packed, at)
  wait, waits = struct.unpack('>d', ARGV[4], waits)
  local r, _, raw = read(fp)
  local is_due, is_done = r and r.state == 'w', not r and raw and raw:sub(1, 1) == 'd'
  if is_due then end_due(r) end
  if is_done then
    r = {fp = fp, kind = 'p', queue = name, sequence = next_number('sequence')}
    queue(name, label)
    count_reason(raw:sub(4), -1)
  end
  if is_due or is_done then
    r.attempt, r.depth, r.offers, r.value, r.body = 0, depth, 1, value, body
    make_due(r, now + wait)
  end
  answers[#answers + 1] = (is_due or is_done) and 1 or 0
end
note_due()
flush()
return answers
