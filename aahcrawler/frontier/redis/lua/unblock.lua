-- ARGV[3]: the version of the rules that the URLs were matched with; from 4: fingerprint, and reason to block it for
-- nevertheless or nothing, in turn. Returns 1 or 0 for each: whether it was put back; or the version of the rules where
-- that is another one.
if total('rules') ~= tonumber(ARGV[3]) then return total('rules') end
local answers = {}
for i = 4, #ARGV, 2 do
  local r, state = read(ARGV[i])
  local is_held = r ~= nil and state == 'b'
  if is_held then put_back(r, ARGV[i + 1]) end
  answers[#answers + 1] = is_held and ARGV[i + 1] == '' and 1 or 0
end
flush()
return answers
