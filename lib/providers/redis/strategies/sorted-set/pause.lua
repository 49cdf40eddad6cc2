-- pause: stop handing out the jobs of a topic, or go on.
-- CALLED BY SortedSet.setPaused. COST O(1). ATOMIC yes.
-- KEYS[1] due     zset  order .. field -> dueAt, or lease expiry once claimed; epoch ms
-- KEYS[2] meta    hash  told, paused, watcher, ...
-- ARGV[1] now     epoch ms, or '' for the server's clock
-- ARGV[2] publish   PUBLISH or SPUBLISH                ARGV[3] channel  of the topic's hints
-- ARGV[4] paused  '1' or '0'
-- RETURNS 1
-- WHY     one flag in the store, so that it holds for instances that start later
local us = readTime(ARGV[1])
if ARGV[4] == '1' then
  redis.call('HSET', KEYS[2], 'paused', '1')
  return 1
end
redis.call('HDEL', KEYS[2], 'paused')
local meta = redis.call('HMGET', KEYS[2], 'told', 'watcher')
local head = tonumber(redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]) or math.huge
announce(KEYS[2], meta[1], meta[2], head, us, ARGV[2], ARGV[3])
return 1
