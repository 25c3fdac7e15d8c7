#!lua
-- Gives a segment its whole size at once, unless it has it: grown piece by piece it would take up to 75 % more.
--
-- KEYS  segment
-- ARGV  bytes
if redis.call('STRLEN', KEYS[1]) < tonumber(ARGV[1]) then
  redis.call('SETRANGE', KEYS[1], tonumber(ARGV[1]) - 1, '\0')
end
return 1
