-- ARGV from 3: queues. Each is put where it belongs by the settings of this call, which may be others than before.
for i = 3, #ARGV do
  polite(ARGV[i])
  queue(ARGV[i])
end
flush()
