#!lua
-- Stores a part once: rows into the ring, its number into its publisher's window. All or nothing: Redis runs a script
-- alone, and refuses it before its first line when memory is short. The windows are those of sequences.rs.
--
-- KEYS  log, below, above, heard (names.rs)
-- ARGV  layout, prefix of segment keys, row_bytes, segment_rows, segments, window, most publishers,
--       publisher (16 hex digits), sequence, rows, payload
-- Returns what was done and where the log ends now.
local log, below, above, heard = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local prefix, row_bytes, segment_rows, segments = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local window, most_publishers = tonumber(ARGV[6]), tonumber(ARGV[7])
local publisher, sequence, rows, payload = ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10]), ARGV[11]

local head = redis.call('HMGET', log, 'layout', 'end', 'parts')
if not head[1] then return { 'missing', 0 } end
if head[1] ~= ARGV[1] then return { 'other ' .. head[1], 0 } end
local stop, parts = tonumber(head[2]), tonumber(head[3]) + 1

-- A number above a publisher's gap, so that lexical order is numerical order.
local function member(number)
  return publisher .. '-' .. string.format('%016.0f', number)
end

local floor = tonumber(redis.call('HGET', below, publisher) or '0')
if sequence < floor or redis.call('ZSCORE', above, member(sequence)) then
  return { 'duplicate', stop }
end

-- Where the rows go: a part may cross from segment to segment.
local pieces, done = {}, 0
while done < rows do
  local position = stop + done
  local within = position % segment_rows
  local count = math.min(rows - done, segment_rows - within)
  local key = prefix .. string.format('%.0f', math.floor(position / segment_rows) % segments)
  if redis.call('STRLEN', key) ~= segment_rows * row_bytes then return { 'damaged ' .. key, stop } end
  pieces[#pieces + 1] = { key, within * row_bytes, done * row_bytes, count * row_bytes }
  done = done + count
end
for _, piece in ipairs(pieces) do
  local bytes = payload
  if #pieces > 1 then bytes = string.sub(payload, piece[3] + 1, piece[3] + piece[4]) end
  redis.call('SETRANGE', piece[1], piece[2], bytes)
end
redis.call('HSET', log, 'end', stop + rows, 'parts', parts)

if sequence == floor then
  floor = floor + 1
else
  redis.call('ZADD', above, 0, member(sequence))
  local highest = redis.call('ZREVRANGEBYLEX', above, '(' .. publisher .. '.', '[' .. publisher .. '-', 'LIMIT', 0, 1)[1]
  highest = tonumber(string.sub(highest, 18))
  if highest - window > floor then
    floor = highest - window
    redis.call('ZREMRANGEBYLEX', above, '[' .. publisher .. '-', '(' .. member(floor))
  end
end
while redis.call('ZREM', above, member(floor)) == 1 do floor = floor + 1 end
redis.call('HSET', below, publisher, string.format('%.0f', floor))

redis.call('ZADD', heard, parts, publisher)
if redis.call('ZCARD', heard) > most_publishers then
  local silent = redis.call('ZPOPMIN', heard)[1]
  redis.call('HDEL', below, silent)
  redis.call('ZREMRANGEBYLEX', above, '[' .. silent .. '-', '(' .. silent .. '.')
end
return { 'stored', stop + rows }
