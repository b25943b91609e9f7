-- ARGV from 3: fingerprint, token and reason of each URL, in turn; no token where it is not leased. Returns 1 or 0 for each:
-- whether it was queued or due, or leased under that token, and is blocked now.
local answers = {}
for i = 3, #ARGV, 3 do
  local fp, token, reason = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local r, state = read(fp)
  local is_blocked = false
  if state == 'l' and token_of(r) == token then
    unlease(r)
    r.attempt = math.max(r.attempt - 1, 0)
    hold(r, reason, -1)
    is_blocked = true
  elseif r and token == '' then
    is_blocked = withhold(r, reason)
  end
  answers[#answers + 1] = is_blocked and 1 or 0
end
flush()
return answers
