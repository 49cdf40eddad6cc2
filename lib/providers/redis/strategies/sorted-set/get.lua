-- get: read the job an id names.
-- CALLED BY SortedSet.get. COST O(log n). ATOMIC yes.
-- KEYS[1] due     zset  order .. field -> dueAt, or lease expiry once claimed; epoch ms
-- KEYS[2] jobs    hash  field -> record                KEYS[3] leases  hash  field -> lease
-- ARGV[1] now     epoch ms, or '' for the server's clock
-- ARGV[2] id
-- RETURNS {} for none, else { id, 'dueAt,scheduledAt,attempt,leaseExpiresAt or empty', payload, extras or '' }
-- WHY     job, lease and place are read together, so that they are of one moment
local now = math.floor(readTime(ARGV[1]) / 1000)
local id = ARGV[2]
local order, attempt, extras, payload = readRecord(redis.call('HGET', KEYS[2], id))
if not order then return {} end
local lease = readLease(redis.call('HGET', KEYS[3], id))
local score = redis.call('ZSCORE', KEYS[1], order .. id)
if not score or (lease and lease.flags ~= '' and lease.expiresAt <= now) then return {} end
return { id, describe(order, lease, score, attempt, now), payload, extras }
