-- add: store new jobs of one topic, or change pending ones of the same id.
-- PHASE 1 of 6. CALLED BY SortedSet.add. COST O(jobs * log n). ATOMIC yes.
-- KEYS[1] due       zset  order .. field -> dueAt, or lease expiry once claimed; epoch ms
-- KEYS[2] jobs      hash  field -> record              KEYS[3] leases  hash  field -> lease
-- KEYS[4] meta      hash  last, told, paused, watcher, split, ...
-- KEYS[5] detached  hash  id -> tokens of jobs whose id was scheduled again, latest first
-- ARGV[1] now       epoch ms, or '' for the server's clock
-- ARGV[2] publish   PUBLISH or SPUBLISH                ARGV[3] channel  of the topic's hints
-- ARGV[4..] three a job, 1..500 jobs, and a fourth where extras follow: id; <ifExists><due>[,<maxWaitMs>][+] as in
--           'kd5000', 'ra1790000000000,60000+'; payload; extras (JSON)
-- RETURNS { now (epoch ms, rounded down), now (rounded up), 1 if the topic is new else 0, then three for each job
--           that was not 'scheduled' as asked: its index from 0, status, dueAt }
-- WHY     whoever adds a job of an id in flight gets a new job: the old one is moved aside under its token
local us = readTime(ARGV[1])
local now = us / 1000
local meta = redis.call('HMGET', KEYS[4], 'last', 'told', 'paused', 'watcher', 'capped')
local order = nextNumber(meta[1], us)
local reply = { math.floor(now), math.ceil(now), meta[1] and 0 or 1 }

local jobs = {}
local ids = {}
local at = 4
while at <= #ARGV do
  local id, how, payload = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local extras = ''
  at = at + 3
  if string.sub(how, -1) == '+' then
    extras = ARGV[at]
    at = at + 1
    how = string.sub(how, 1, -2)
  end
  ids[#ids + 1] = id
  jobs[#jobs + 1] = { id, how, payload, extras }
end
local records = redis.call('HMGET', KEYS[2], unpack(ids))

local dues, values = {}, {}
local head = math.huge
local seen = {}

local function flush()
  if #dues == 0 then return end
  redis.call('ZADD', KEYS[1], unpack(dues))
  redis.call('HSET', KEYS[2], unpack(values))
  dues, values = {}, {}
end

local function insert(id, dueAt, extras, payload)
  local bytes = struct.pack('>I7', order)
  order = order + 1
  dues[#dues + 1] = text(dueAt)
  dues[#dues + 1] = bytes .. id
  values[#values + 1] = id
  values[#values + 1] = makeRecord(bytes, 0, extras, payload)
  if dueAt < head then head = dueAt end
end

-- Moves the job in flight aside: its id names the new one from here on.
local function detach(id, record, lease)
  local field = id .. '\0' .. lease.token
  redis.call('HSET', KEYS[2], field, record)
  redis.call('HSET', KEYS[3], field, redis.call('HGET', KEYS[3], id))
  redis.call('HDEL', KEYS[3], id)
  redis.call('ZREM', KEYS[1], lease.order .. id)
  redis.call('ZADD', KEYS[1], text(lease.expiresAt), lease.order .. field)
  local others = redis.call('HGET', KEYS[5], id)
  redis.call('HSET', KEYS[5], id, others and lease.token .. ' ' .. others or lease.token)
  redis.call('HSET', KEYS[4], 'split', 1)
end

local function replace(id, oldOrder, dueAt, maxWait, extras, payload)
  if maxWait then dueAt = math.min(dueAt, math.max(scheduledAtOf(oldOrder) + maxWait, math.floor(now))) end
  redis.call('ZADD', KEYS[1], text(dueAt), oldOrder .. id)
  redis.call('HSET', KEYS[2], id, makeRecord(oldOrder, 0, extras, payload))
  redis.call('HDEL', KEYS[3], id)
  if dueAt < head then head = dueAt end
  return dueAt
end

-- A job of this id is stored already.
local function meet(index, id, ifExists, dueAt, maxWait, extras, payload)
  local record = redis.call('HGET', KEYS[2], id)
  local oldOrder = readRecord(record)
  local lease = readLease(redis.call('HGET', KEYS[3], id))
  if not oldOrder then
    -- Unreadable: whatever it was, it is no job of this version. A claim sets it aside under its own place.
    return insert(id, dueAt, extras, payload)
  end
  if lease and lease.expiresAt > now then
    detach(id, record, lease)
    return insert(id, dueAt, extras, payload)
  end
  if lease and lease.flags ~= '' then
    redis.call('ZREM', KEYS[1], oldOrder .. id)
    redis.call('HDEL', KEYS[3], id)
    return insert(id, dueAt, extras, payload)
  end
  local status
  if ifExists == 'r' then
    dueAt = replace(id, oldOrder, dueAt, maxWait, extras, payload)
    status = 'replaced'
  else
    dueAt = lease and lease.dueAt or redis.call('ZSCORE', KEYS[1], oldOrder .. id) or now
    status = ifExists == 'k' and 'kept' or 'exists'
  end
  reply[#reply + 1] = index
  reply[#reply + 1] = status
  reply[#reply + 1] = tonumber(dueAt)
end

for i = 1, #jobs do
  local id, how, payload, extras = unpack(jobs[i])
  local amount, maxWait = tonumber(string.sub(how, 3)), nil
  if not amount then
    local first, second = string.match(how, '^..(%-?%d+),(%d+)$')
    amount, maxWait = tonumber(first), tonumber(second)
  end
  local dueAt = readDue(string.sub(how, 2, 2), amount, us)
  if records[i] or seen[id] then
    flush()
    meet(i - 1, id, string.sub(how, 1, 1), dueAt, maxWait, extras, payload)
    flush()
  else
    insert(id, dueAt, extras, payload)
  end
  seen[id] = true
end
flush()
redis.call('HSET', KEYS[4], 'last', text(order - 1))
if not meta[3] and meta[5] ~= '1' then announce(KEYS[4], meta[2], meta[4], head, us, ARGV[2], ARGV[3]) end
return reply
