#!lua
-- Stores a part once: rows into the ring, its number among its publisher's. Without rows it only notes the number. All or
-- nothing: Redis runs a script alone, and refuses it before its first line when memory is short. What is known of numbers
-- is as in sequences.rs.
--
-- KEYS  log, below, ranges, forgotten, heard (names.rs)
-- ARGV  layout, prefix of segment keys, row_bytes, segment_rows, segments, most gaps, most publishers,
--       publisher (16 hex digits), sequence, rows, payload
-- Returns what was done and where the log ends now.
local log, below, ranges, forgotten, heard = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local prefix, row_bytes, segment_rows, segments = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local most_gaps, most_publishers = tonumber(ARGV[6]), tonumber(ARGV[7])
local publisher, sequence, rows, payload = ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10]), ARGV[11]

local head = redis.call('HMGET', log, 'layout', 'end', 'parts')
if not head[1] then return { 'missing', 0 } end
if head[1] ~= ARGV[1] then return { 'other ' .. head[1], 0 } end
local stop, parts = tonumber(head[2]), tonumber(head[3]) + 1

-- Numbers as text whose lexical order is theirs.
local function digits(number) return string.format('%016.0f', number) end
local function range(from, to) return publisher .. '-' .. digits(from) .. '-' .. digits(to) end
local function bounds(member) return tonumber(string.sub(member, 18, 33)), tonumber(string.sub(member, 35)) end

local floor = tonumber(redis.call('HGET', below, publisher) or '0')
if sequence < floor then
  local hole = redis.call('HGET', forgotten, publisher)
  if hole then
    local from, to = string.match(hole, '(%d+)-(%d+)')
    if tonumber(from) <= sequence and sequence < tonumber(to) then return { 'too old', stop } end
  end
  return { 'duplicate', stop }
end
-- The range that begins at the number or before it.
local before, from, to
if sequence > floor then
  local top, bottom = '[' .. publisher .. '-' .. digits(sequence) .. '.', '(' .. publisher .. '-'
  before = redis.call('ZREVRANGEBYLEX', ranges, top, bottom, 'LIMIT', 0, 1)[1]
  if before then
    from, to = bounds(before)
    if sequence < to then return { 'duplicate', stop } end
  end
end

-- Where the rows go: a part may cross from segment to segment.
local pieces, missing, done = {}, {}, 0
while done < rows do
  local position = stop + done
  local within = position % segment_rows
  local count = math.min(rows - done, segment_rows - within)
  local key = prefix .. string.format('%.0f', math.floor(position / segment_rows) % segments)
  if redis.call('STRLEN', key) ~= segment_rows * row_bytes then
    if within > 0 then return { 'damaged ' .. key, stop } end
    -- A server that came back to an earlier state may lack it. Nothing is held in it now.
    missing[#missing + 1] = key
  end
  pieces[#pieces + 1] = { key, within * row_bytes, done * row_bytes, count * row_bytes }
  done = done + count
end
for _, key in ipairs(missing) do
  redis.call('DEL', key)
  redis.call('SETRANGE', key, segment_rows * row_bytes - 1, '\0')
end
for _, piece in ipairs(pieces) do
  local bytes = payload
  if #pieces > 1 then bytes = string.sub(payload, piece[3] + 1, piece[3] + piece[4]) end
  redis.call('SETRANGE', piece[1], piece[2], bytes)
end
redis.call('HSET', log, 'end', stop + rows, 'parts', parts)

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

redis.call('ZADD', heard, parts, publisher)
if redis.call('ZCARD', heard) > most_publishers then
  local silent = redis.call('ZPOPMIN', heard)[1]
  redis.call('HDEL', below, silent)
  redis.call('HDEL', forgotten, silent)
  redis.call('ZREMRANGEBYLEX', ranges, '[' .. silent .. '-', '(' .. silent .. '.')
end
return { 'stored', stop + rows }
