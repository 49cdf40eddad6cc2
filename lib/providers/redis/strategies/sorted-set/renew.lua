-- renew: move the expiry of leases.
-- PHASE 4 of 6. CALLED BY SortedSet.renew. COST O(leases * log n). ATOMIC yes.
-- KEYS[1] due     zset  order .. field -> dueAt, or lease expiry once claimed; epoch ms
-- KEYS[2] leases  hash  field -> lease                 KEYS[3] meta  hash  told, paused, watcher, capped, ...
-- ARGV[1] now     epoch ms, or '' for the server's clock
-- ARGV[2] publish   PUBLISH or SPUBLISH                ARGV[3] channel  of the topic's hints
-- ARGV[4] leaseMs   duration, ms, from now
-- ARGV[5..] two a lease, 1..500: id, token
-- RETURNS { one word a lease: 'renewed', 'abort' or 'lease-lost' }
-- WHY     one that expired is renewed as well, as long as nobody took the job over: its token is still the latest
local us = readTime(ARGV[1])
local expiresAt = math.floor(us / 1000) + ARGV[4]
local meta = redis.call('HMGET', KEYS[3], 'told', 'paused', 'watcher', 'capped')
local reply = {}
local head = math.huge
for at = 5, #ARGV, 2 do
  local id, token = ARGV[at], ARGV[at + 1]
  local field = id
  local lease = readLease(redis.call('HGET', KEYS[2], field))
  if not lease or lease.token ~= token then
    field = id .. '\0' .. token
    lease = readLease(redis.call('HGET', KEYS[2], field))
  end
  if lease and lease.token == token then
    redis.call('ZADD', KEYS[1], text(expiresAt), lease.order .. field)
    local value = makeLease(lease.order, token, lease.dueAt, lease.attempt, expiresAt, lease.flags)
    redis.call('HSET', KEYS[2], field, value)
    head = expiresAt
    reply[#reply + 1] = string.find(lease.flags, 'a', 1, true) and 'abort' or 'renewed'
  else
    reply[#reply + 1] = 'lease-lost'
  end
end
if not meta[2] and meta[4] ~= '1' then announce(KEYS[3], meta[1], meta[3], head, us, ARGV[2], ARGV[3]) end
return reply
