-- reschedule: give pending jobs another due time.
-- PHASE 2 of 6. CALLED BY SortedSet.reschedule. COST O(moves * log n). ATOMIC yes.
-- KEYS[1] due       zset  order .. field -> dueAt, or lease expiry once claimed; epoch ms
-- KEYS[2] jobs      hash  field -> record              KEYS[3] leases  hash  field -> lease
-- KEYS[4] meta      hash  told, paused, watcher, capped, split, ...
-- KEYS[5] detached  hash  id -> tokens, latest first
-- ARGV[1] now       epoch ms, or '' for the server's clock
-- ARGV[2] publish   PUBLISH or SPUBLISH                ARGV[3] channel  of the topic's hints
-- ARGV[4..] two a move, 1..500: id; due time as 'd<ms>' from now or 'a<epoch ms>'
-- RETURNS { one word a move: 'rescheduled', 'in-flight' or 'unknown' }
-- WHY     a move ends an expired lease for good: its holder must not settle a job that someone gave another time
local us = readTime(ARGV[1])
local now = math.floor(us / 1000)
local meta = redis.call('HMGET', KEYS[4], 'told', 'paused', 'watcher', 'capped', 'split')
local reply = {}
local head = math.huge
local dues = {}

local function move(id, record, lease, due)
  local order, _, extras, payload = readRecord(record)
  if lease then
    redis.call('HDEL', KEYS[3], id)
    redis.call('HSET', KEYS[2], id, makeRecord(order, lease.attempt, extras, payload))
  end
  local dueAt = readDue(string.sub(due, 1, 1), tonumber(string.sub(due, 2)), us)
  dues[#dues + 1] = text(dueAt)
  dues[#dues + 1] = order .. id
  head = math.min(head, dueAt)
  return 'rescheduled'
end

local function reschedule(id, due)
  local record = redis.call('HGET', KEYS[2], id)
  if not readRecord(record) then return 'unknown' end
  local lease = readLease(redis.call('HGET', KEYS[3], id))
  if lease and lease.expiresAt > now then return 'in-flight' end
  if not lease or lease.flags == '' then return move(id, record, lease, due) end
  -- Cancelled in flight, and the lease is over: it is gone, only nobody has come by yet.
  redis.call('ZREM', KEYS[1], lease.order .. id)
  redis.call('HDEL', KEYS[2], id)
  redis.call('HDEL', KEYS[3], id)
  if meta[5] then reattach(KEYS, { id }) end
  return 'unknown'
end

for at = 4, #ARGV, 2 do reply[#reply + 1] = reschedule(ARGV[at], ARGV[at + 1]) end
if #dues > 0 then redis.call('ZADD', KEYS[1], unpack(dues)) end
if not meta[2] and meta[4] ~= '1' then announce(KEYS[4], meta[1], meta[3], head, us, ARGV[2], ARGV[3]) end
return reply
