-- settle: end leases, each with an outcome of its own.
-- PHASE 5 of 6. CALLED BY SortedSet.settle. COST O(settlements * log n). ATOMIC yes.
-- KEYS[1] due       zset  order .. field -> dueAt, or lease expiry once claimed; epoch ms
-- KEYS[2] jobs      hash  field -> record              KEYS[3] leases   hash  field -> lease
-- KEYS[4] meta      hash  last, told, paused, watcher, capped, split
-- KEYS[5] detached  hash  id -> tokens, latest first   KEYS[6] dead     zset  number -> number
-- KEYS[7] letters   hash  number -> dead letter
-- ARGV[1] now       epoch ms, or '' for the server's clock
-- ARGV[2] publish   PUBLISH or SPUBLISH                ARGV[3] channel  of the topic's hints
-- ARGV[4] maxCount  of dead letters kept               ARGV[5] maxAgeMs  of dead letters kept
-- ARGV[6] count     1..500 settlements, then in blocks of that many: ids; tokens; 'c' complete, 'l' release,
--           'r<delayMs>[+]' retry, 'd[+]' dead-letter. ARGV[7..] are these, and the extras (JSON) of those with '+'
-- RETURNS { dead letters dropped by retention, then the index from 0 of each settlement whose lease is lost }
-- WHY     the token is compared in here: whoever was slow must not end the lease of the next
local meta = redis.call('HMGET', KEYS[4], 'last', 'told', 'paused', 'watcher', 'capped', 'split')
local count = tonumber(ARGV[6])
local nextExtras = 7 + 3 * count
local needsTime = meta[5] == '1'
for i = 7 + 2 * count, 6 + 3 * count do
  if ARGV[i] ~= 'c' then needsTime = true end
end
local us = needsTime and readTime(ARGV[1]) or 0
local now = math.floor(us / 1000)
local held = redis.call('HMGET', KEYS[3], unpack(ARGV, 7, 6 + count))
local reply = { 0 }
local members, fields, gone = {}, {}, {}
local head = math.huge
local last = meta[1]

local function remove(field, order)
  members[#members + 1] = order .. field
  fields[#fields + 1] = field
end

local function putBack(field, lease, attempt, dueAt, extras, keepExtras)
  local order, _, oldExtras, payload = readRecord(redis.call('HGET', KEYS[2], field))
  if not order then return remove(field, lease.order) end
  redis.call('HSET', KEYS[2], field, makeRecord(order, attempt, keepExtras and oldExtras or extras, payload))
  redis.call('HDEL', KEYS[3], field)
  redis.call('ZADD', KEYS[1], dueAt, order .. field)
  head = math.min(head, tonumber(dueAt))
end

local function bury(field, lease, extras)
  local order, _, _, payload = readRecord(redis.call('HGET', KEYS[2], field))
  if order then
    last = nextNumber(last, us)
    local number, id = text(last), idOf(field)
    local facts = text(lease.attempt) .. ',' .. lease.dueAt .. ',' .. text(scheduledAtOf(order)) .. ',' .. #id .. ',' .. #extras
    redis.call('HSET', KEYS[7], number, CURRENT .. facts .. ';' .. id .. extras .. payload)
    redis.call('ZADD', KEYS[6], number, number)
  end
  remove(field, lease.order)
end

local function settle(field, value, outcome, extras)
  local kind = string.sub(outcome, 1, 1)
  local lease = readLease(value)
  if kind == 'd' then return bury(field, lease, extras) end
  if lease.flags ~= '' then return remove(field, lease.order) end
  if kind == 'l' then return putBack(field, lease, math.max(0, lease.attempt - 1), lease.dueAt, '', true) end
  local delayMs = tonumber(string.match(outcome, '^r(%d+)'))
  putBack(field, lease, lease.attempt, text(readDue('d', delayMs, us)), extras, false)
end

for i = 1, count do
  local id, token, outcome = ARGV[6 + i], ARGV[6 + count + i], ARGV[6 + 2 * count + i]
  local field, value, extras = id, held[i], ''
  if #outcome > 1 and string.sub(outcome, -1) == '+' then
    extras = ARGV[nextExtras]
    nextExtras = nextExtras + 1
  end
  if meta[6] and not holds(value, token) then
    field = id .. '\0' .. token
    value = redis.call('HGET', KEYS[3], field)
  end
  if gone[field] or not holds(value, token) then
    reply[#reply + 1] = i - 1
  else
    gone[field] = true
    if outcome == 'c' then remove(field, string.sub(value, 1, 7)) else settle(field, value, outcome, extras) end
  end
end

if #members > 0 then
  redis.call('ZREM', KEYS[1], unpack(members))
  redis.call('HDEL', KEYS[2], unpack(fields))
  redis.call('HDEL', KEYS[3], unpack(fields))
  if meta[6] then reattach(KEYS, fields) end
end

if last ~= meta[1] then
  redis.call('HSET', KEYS[4], 'last', text(last))
  reply[1] = retain(KEYS[6], KEYS[7], tonumber(ARGV[4]), now - ARGV[5])
end
if meta[5] == '1' then
  -- A slot of maxInFlight is free: what was due already can be claimed.
  redis.call('HSET', KEYS[4], 'capped', '0')
  head = tonumber(redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]) or head
end
if not meta[3] then announce(KEYS[4], meta[2], meta[4], head, us, ARGV[2], ARGV[3]) end
return reply
