#!lua
-- Begins a log if there is none, and returns the layout of the one there is. Its identity, any new word, tells it from a
-- log that takes its place after the data was lost.
--
-- KEYS  log
-- ARGV  layout, identity
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'layout', ARGV[1], 'identity', ARGV[2], 'first', 0, 'end', 0, 'held', 0, 'parts', 0)
end
return redis.call('HGET', KEYS[1], 'layout')
