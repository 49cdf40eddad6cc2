-- cancel: take pending jobs back, and mark those in flight so that no other run follows.
-- PHASE 2 of 6. CALLED BY SortedSet.cancel. COST O(requests * log n). ATOMIC yes.
-- KEYS[1] due       zset  order .. field -> dueAt, or lease expiry once claimed; epoch ms
-- KEYS[2] jobs      hash  field -> record              KEYS[3] leases  hash  field -> lease
-- KEYS[4] meta      hash  split, ...                   KEYS[5] detached  hash  id -> tokens, latest first
-- ARGV[1] now       epoch ms, or '' for the server's clock
-- ARGV[2] publish   PUBLISH or SPUBLISH                ARGV[3] channel  of the topic's hints
-- ARGV[4..] two a request, 1..500: id; '1' to ask for the abort of a run, else '0'
-- RETURNS { one word a request: 'cancelled', 'in-flight' or 'unknown' }
-- WHY     an expired lease protects nobody: its job waits again, and goes like any other
local now = math.floor(readTime(ARGV[1]) / 1000)
local split = redis.call('HGET', KEYS[4], 'split')
local reply = {}

local function mark(id, lease, abort)
  local flags = (abort or string.find(lease.flags, 'a', 1, true)) and 'ca' or 'c'
  local value = makeLease(lease.order, lease.token, lease.dueAt, lease.attempt, lease.expiresAt, flags)
  redis.call('HSET', KEYS[3], id, value)
  if abort then redis.call(ARGV[2], ARGV[3], 'abort ' .. lease.token .. ' ' .. id) end
end

for at = 4, #ARGV, 2 do
  local id = ARGV[at]
  local record = redis.call('HGET', KEYS[2], id)
  local lease = record and readLease(redis.call('HGET', KEYS[3], id))
  if not record then
    reply[#reply + 1] = 'unknown'
  elseif lease and lease.expiresAt > now then
    mark(id, lease, ARGV[at + 1] == '1')
    reply[#reply + 1] = 'in-flight'
  else
    redis.call('ZREM', KEYS[1], string.sub(record, 2, 8) .. id)
    redis.call('HDEL', KEYS[2], id)
    redis.call('HDEL', KEYS[3], id)
    if split then reattach(KEYS, { id }) end
    reply[#reply + 1] = 'cancelled'
  end
end
return reply
