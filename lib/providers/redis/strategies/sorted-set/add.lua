-- add: store new jobs of one topic, or change pending ones of the same id.
-- PHASE 1 of 6. CALLED BY SortedSet.add. COST O(jobs * log n). ATOMIC yes.
-- KEYS[1] due       zset  order .. field -> dueAt, or lease expiry once claimed; epoch ms
-- KEYS[2] jobs      hash  field -> record              KEYS[3] leases  hash  field -> lease
-- KEYS[4] meta      hash  last, told, paused, watcher, split, ...
-- KEYS[5] detached  hash  id -> tokens of jobs whose id was scheduled again, latest first
-- ARGV[1] now       epoch ms, or '' for the server's clock
-- ARGV[2] publish   PUBLISH or SPUBLISH                ARGV[3] channel  of the topic's hints
-- ARGV[4] count    1..500 jobs, then in blocks of that many: ids; <ifExists><due>[,<maxWaitMs>][+] as in 'kd5000',
--           'ra1790000000000,60000+'; payloads. ARGV[5..] are these, and the extras (JSON) of the jobs with '+'
-- RETURNS { now (epoch ms, rounded down), now (rounded up), 1 if the topic is new else 0, then three for each job
--           that was not 'scheduled' as asked: its index from 0, status, dueAt }
-- WHY     whoever adds a job of an id in flight gets a new job: the old one is moved aside under its token
local us = readTime(ARGV[1])
local now = us / 1000
local meta = redis.call('HMGET', KEYS[4], 'last', 'told', 'paused', 'watcher', 'capped')
local order = nextNumber(meta[1], us)
local reply = { math.floor(now), math.ceil(now), meta[1] and 0 or 1 }

local count = tonumber(ARGV[4])
local records = redis.call('HMGET', KEYS[2], unpack(ARGV, 5, 4 + count))
local nextExtras = 5 + 3 * count

-- What was asked for, read once for all jobs that ask for the same.
local asked = {}
local function readHow(how)
  local due, maxWait = string.match(how, '^..(%-?%d+),?(%d*)')
  local dueAt = readDue(string.sub(how, 2, 2), tonumber(due), us)
  local ask = {
    ifExists = string.sub(how, 1, 1),
    dueAt = dueAt,
    dueText = text(dueAt),
    maxWait = tonumber(maxWait),
    hasExtras = string.sub(how, -1) == '+',
  }
  asked[how] = ask
  return ask
end

local dues, values = {}, {}
local head = math.huge
local seen = {}

local function flush()
  if #dues == 0 then return end
  redis.call('ZADD', KEYS[1], unpack(dues))
  redis.call('HSET', KEYS[2], unpack(values))
  dues, values = {}, {}
end

local function insert(id, ask, extras, payload)
  local bytes = struct.pack('>I7', order)
  order = order + 1
  local place = #dues
  dues[place + 1] = ask.dueText
  dues[place + 2] = bytes .. id
  values[place + 1] = id
  values[place + 2] = extras == '' and CURRENT .. bytes .. ';' .. payload or makeRecord(bytes, 0, extras, payload)
  if ask.dueAt < head then head = ask.dueAt end
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
local function meet(index, id, ask, extras, payload)
  local record = redis.call('HGET', KEYS[2], id)
  local oldOrder = readRecord(record)
  local lease = readLease(redis.call('HGET', KEYS[3], id))
  if not oldOrder then
    -- Unreadable: whatever it was, it is no job of this version. A claim sets it aside under its own place.
    return insert(id, ask, extras, payload)
  end
  if lease and lease.expiresAt > now then
    detach(id, record, lease)
    return insert(id, ask, extras, payload)
  end
  if lease and lease.flags ~= '' then
    redis.call('ZREM', KEYS[1], oldOrder .. id)
    redis.call('HDEL', KEYS[3], id)
    return insert(id, ask, extras, payload)
  end
  local status, dueAt
  if ask.ifExists == 'r' then
    dueAt = replace(id, oldOrder, ask.dueAt, ask.maxWait, extras, payload)
    status = 'replaced'
  else
    dueAt = lease and lease.dueAt or redis.call('ZSCORE', KEYS[1], oldOrder .. id) or now
    status = ask.ifExists == 'k' and 'kept' or 'exists'
  end
  reply[#reply + 1] = index
  reply[#reply + 1] = status
  reply[#reply + 1] = tonumber(dueAt)
end

for i = 1, count do
  local id, how, payload = ARGV[4 + i], ARGV[4 + count + i], ARGV[4 + 2 * count + i]
  local ask = asked[how] or readHow(how)
  local extras = ''
  if ask.hasExtras then
    extras = ARGV[nextExtras]
    nextExtras = nextExtras + 1
  end
  if records[i] or seen[id] then
    flush()
    meet(i - 1, id, ask, extras, payload)
    flush()
  else
    insert(id, ask, extras, payload)
  end
  seen[id] = true
end
flush()
if meta[3] or meta[5] == '1' then head = math.huge end
announce(KEYS[4], meta[2], meta[4], head, us, ARGV[2], ARGV[3], 'last', text(order - 1))
return reply
