-- ARGV[3]: packed offers. Returns one letter an offer: added, rescored, known.
local answers = offer_all(ARGV[3])
flush()
return answers
