-- dead-remove: remove dead letters by number, or those past a bound.
-- CALLED BY SortedSet.removeDead and purgeDead. COST O(removed * log n). ATOMIC yes.
-- KEYS[1] dead    zset  number -> number               KEYS[2] letters  hash  number -> dead letter
-- ARGV[1] now     epoch ms, or '' for the server's clock
-- ARGV[2] keep    how many to keep, or ''              ARGV[3] olderThanMs  since they died, or ''
-- ARGV[4..] numbers, 0..500; the bounds count only where there are none
-- RETURNS how many were removed
-- WHY     retention after each dead letter uses the same bounds
if #ARGV > 3 then
  local numbers = { unpack(ARGV, 4) }
  redis.call('HDEL', KEYS[2], unpack(numbers))
  return redis.call('ZREM', KEYS[1], unpack(numbers))
end
local now = math.floor(readTime(ARGV[1]) / 1000)
local oldestAt = ARGV[3] == '' and 0 or now - ARGV[3]
return retain(KEYS[1], KEYS[2], tonumber(ARGV[2]) or math.huge, math.max(0, oldestAt))
