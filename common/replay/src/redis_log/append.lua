#!lua
-- Stores a part once: gives its rows, which were set under another key just before, their place in the log, and notes its
-- number among its publisher's. Rows never come into this script: Lua would look at each byte of them. Without rows it only
-- notes the number. All or nothing: Redis runs a script alone, and refuses it before its first line when memory is short.
-- What is known of numbers is as in sequences.rs.
--
-- KEYS  log, parts, below, ranges, forgotten, heard (names.rs), key of the rows
-- ARGV  layout, prefix of parts' keys, row_bytes, most rows, most bytes, bytes of a part besides its rows, most gaps,
--       most publishers, publisher (16 hex digits), sequence, rows
-- Returns what was done.
local log, parts, below, ranges, forgotten, heard, staged = unpack(KEYS)
local prefix, row_bytes, most_rows, most_bytes = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local part_bytes, most_gaps, most_publishers = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local publisher, sequence, rows = ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11])

local function undone(what)
  if rows > 0 then redis.call('DEL', staged) end
  return what
end

local head = redis.call('HMGET', log, 'layout', 'first', 'end', 'held', 'parts')
if not head[1] then return undone('missing') end
if head[1] ~= ARGV[1] then return undone('other ' .. head[1]) end
local first, stop, held, clock = tonumber(head[2]), tonumber(head[3]), tonumber(head[4]), tonumber(head[5]) + 1

-- Numbers as text whose lexical order is theirs.
local function digits(number) return string.format('%016.0f', number) end
local function range(from, to) return publisher .. '-' .. digits(from) .. '-' .. digits(to) end
local function bounds(member) return tonumber(string.sub(member, 18, 33)), tonumber(string.sub(member, 35)) end

local floor = tonumber(redis.call('HGET', below, publisher) or '0')
if sequence < floor then
  local hole = redis.call('HGET', forgotten, publisher)
  if hole then
    local from, to = string.match(hole, '(%d+)-(%d+)')
    if tonumber(from) <= sequence and sequence < tonumber(to) then return undone('too old') end
  end
  return undone('duplicate')
end
-- The range that begins at the number or before it.
local before, from, to
if sequence > floor then
  local top, bottom = '[' .. publisher .. '-' .. digits(sequence) .. '.', '(' .. publisher .. '-'
  before = redis.call('ZREVRANGEBYLEX', ranges, top, bottom, 'LIMIT', 0, 1)[1]
  if before then
    from, to = bounds(before)
    if sequence < to then return undone('duplicate') end
  end
end

if rows > 0 then
  if redis.call('STRLEN', staged) ~= rows * row_bytes then return undone('damaged ' .. staged) end
  -- The oldest parts make room.
  local function is_full()
    local more = stop + rows - first
    return more > most_rows or more * row_bytes + (held + 1) * part_bytes > most_bytes
  end
  while held > 0 and is_full() do
    redis.call('UNLINK', prefix .. redis.call('ZPOPMIN', parts)[1])
    held = held - 1
    first = tonumber(redis.call('ZRANGE', parts, 0, 0)[1] or stop)
  end
  local position = string.format('%.0f', stop)
  redis.call('RENAME', staged, prefix .. position)
  redis.call('PERSIST', prefix .. position)
  redis.call('ZADD', parts, position, position)
  stop, held = stop + rows, held + 1
end
local text = function(number) return string.format('%.0f', number) end
redis.call('HSET', log, 'first', text(first), 'end', text(stop), 'held', held, 'parts', text(clock))

-- What the number joins to behind and before.
local ends = sequence + 1
local next_to = publisher .. '-' .. digits(ends)
local behind = redis.call('ZRANGEBYLEX', ranges, '[' .. next_to .. '-', '(' .. next_to .. '.', 'LIMIT', 0, 1)[1]
if behind then
  redis.call('ZREM', ranges, behind)
  ends = select(2, bounds(behind))
end
if sequence == floor then
  floor = ends
else
  if before and to == sequence then
    redis.call('ZREM', ranges, before)
  else
    from = sequence
  end
  redis.call('ZADD', ranges, 0, range(from, ends))
  local all, none = '[' .. publisher .. '-', '(' .. publisher .. '.'
  if redis.call('ZLEXCOUNT', ranges, all, none) > most_gaps then
    local lowest = redis.call('ZRANGEBYLEX', ranges, all, none, 'LIMIT', 0, 1)[1]
    local start, stops = bounds(lowest)
    local hole = string.match(redis.call('HGET', forgotten, publisher) or '', '%d+') or string.format('%.0f', floor)
    redis.call('HSET', forgotten, publisher, hole .. '-' .. string.format('%.0f', start))
    redis.call('ZREM', ranges, lowest)
    floor = stops
  end
end
redis.call('HSET', below, publisher, string.format('%.0f', floor))

redis.call('ZADD', heard, clock, publisher)
if redis.call('ZCARD', heard) > most_publishers then
  local silent = redis.call('ZPOPMIN', heard)[1]
  redis.call('HDEL', below, silent)
  redis.call('HDEL', forgotten, silent)
  redis.call('ZREMRANGEBYLEX', ranges, '[' .. silent .. '-', '(' .. silent .. '.')
end
return 'stored'
