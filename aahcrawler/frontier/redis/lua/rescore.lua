-- ARGV[3]: packed fingerprints and scores. Returns a letter for each, 1 or 0: whether its score was set.
local packed, answers = ARGV[3], {}
local at, fp, value = 1, nil, nil
while at <= #packed do
  fp, value, at = struct.unpack('>c8d', packed, at)
  local r, state = read(fp)
  local free = r and state == 'q' and r.kind == 'p' and not r.posted
  answers[#answers + 1] = free and '1' or '0'
  if free and (r.value ~= value or r.offers ~= 1) then
    r.value, r.offers = value, 1
    enqueue(r)
    write(r)
  end
end
flush()
return table.concat(answers)
