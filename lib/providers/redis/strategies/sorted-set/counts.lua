-- counts: how many jobs of a topic there are in each state.
-- CALLED BY SortedSet.counts. COST O(leases + log n). ATOMIC yes.
-- KEYS[1] due     zset  order .. field -> dueAt, or lease expiry once claimed; epoch ms
-- KEYS[2] leases  hash  field -> lease                 KEYS[3] meta  hash  paused, ...
-- KEYS[4] dead    zset  number -> number               KEYS[5] settings  hash  name -> value
-- ARGV[1] now     epoch ms, or '' for the server's clock
-- RETURNS { pending, due, age of the head in microseconds, in flight, dead, 1 if paused else 0, settings }
-- WHY     a lease that has expired counts as a pending job, so each job is in one state
local us = readTime(ARGV[1])
local now = math.floor(us / 1000)
local inFlight = 0
for _, value in ipairs(redis.call('HVALS', KEYS[2])) do
  local lease = readLease(value)
  if lease and lease.expiresAt > now then inFlight = inFlight + 1 end
end
local head = tonumber(redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]) or math.huge
return {
  redis.call('ZCARD', KEYS[1]) - inFlight,
  redis.call('ZCOUNT', KEYS[1], '-inf', text(now)),
  math.max(0, us - math.min(head * 1000, us)),
  inFlight,
  redis.call('ZCARD', KEYS[4]),
  redis.call('HEXISTS', KEYS[3], 'paused'),
  redis.call('HLEN', KEYS[5]),
}
