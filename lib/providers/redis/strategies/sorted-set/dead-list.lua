-- dead-list: read dead letters, oldest first.
-- CALLED BY SortedSet.listDead and getDead. COST O(log n + limit). ATOMIC yes.
-- KEYS[1] dead    zset  number -> number               KEYS[2] letters  hash  number -> dead letter
-- ARGV[1] after   number of the last one of the page before, '-1' for the first page; or '=number' for that one alone
-- ARGV[2] limit   1..500
-- RETURNS { 1 if there are more else 0, then five each: number; 'attempts,dueAt,scheduledAt,diedAt'; id;
--           payload; extras or '' }
-- WHY     numbers rise for ever, so a page that begins behind one is not shifted by what is removed
local from, to = '(' .. ARGV[1], '+inf'
local only = string.match(ARGV[1], '^=(.*)$')
if only then
  if not redis.call('ZSCORE', KEYS[1], only) then return { 0 } end
  from, to = only, only
end
local limit = tonumber(ARGV[2])
local numbers = redis.call('ZRANGEBYSCORE', KEYS[1], from, to, 'LIMIT', 0, limit + 1)
local reply = { #numbers > limit and 1 or 0 }
for i = 1, math.min(limit, #numbers) do
  local letter = redis.call('HGET', KEYS[2], numbers[i]) or ''
  local facts, ids, extras, stop = string.match(letter, '^1(%d+,%-?%d+,%-?%d+),(%d+),(%d+)();')
  local count = #reply
  reply[count + 1] = numbers[i]
  if facts then
    local body = stop + 1 + ids
    reply[count + 2] = facts .. ',' .. text(math.floor(numbers[i] / ORDERS_PER_MS))
    reply[count + 3] = string.sub(letter, stop + 1, stop + ids)
    reply[count + 4] = string.sub(letter, body + extras)
    reply[count + 5] = string.sub(letter, body, body + extras - 1)
  else
    reply[count + 2] = '0,0,0,' .. text(math.floor(numbers[i] / ORDERS_PER_MS))
    reply[count + 3] = numbers[i]
    reply[count + 4] = letter
    reply[count + 5] = '{"deadReason":"unreadable"}'
  end
end
return reply
