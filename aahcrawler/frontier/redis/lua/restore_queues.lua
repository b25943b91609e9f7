-- ARGV from 3: id of each queue and what was kept of it: of that its name, and how much of it is done.
for i = 3, #ARGV, 2 do
  local label = ARGV[i + 1]:sub(#EMPTY + 1)
  local q = queue(ARGV[i], label)
  q.label = label
  q.done = select(11, struct.unpack(QUEUE, ARGV[i + 1]))
end
flush()
