-- claim: take due jobs and lease them to one instance.
-- PHASE 3 of 6. CALLED BY SortedSet.claim. COST O(limit * log n). ATOMIC yes.
-- KEYS[1] due       zset  order .. field -> dueAt, or lease expiry once claimed; epoch ms
-- KEYS[2] jobs      hash  field -> record              KEYS[3] leases   hash  field -> lease
-- KEYS[4] meta      hash  last, told, paused, bucket, filled, watcher, heard, capped, split
-- KEYS[5] detached  hash  id -> tokens, latest first   KEYS[6] dead     zset  number -> number
-- KEYS[7] letters   hash  number -> dead letter
-- ARGV[1] now       epoch ms, or '' for the server's clock   ARGV[2] leaseMs  duration, ms
-- ARGV[3] limit     1..500                             ARGV[4] maxInFlight  leases over all instances, or ''
-- ARGV[5] rate      'limit,perMs,burst', or ''         ARGV[6] instance     who asks
-- ARGV[7] publish   PUBLISH or SPUBLISH                ARGV[8] channel      of the topic's hints
-- ARGV[9] bytes     of records to hand out at most, the first job aside
-- ARGV[10] part, ARGV[11] parts   tokens are those that leave `part` when divided by `parts`
-- RETURNS { microseconds until another claim can succeed (0: now, -1: only a hint can tell), now (epoch microseconds),
--           1 if `instance` watches the head else 0, first token, jobs set aside as unreadable,
--           then four a job: id; dueAt; scheduledAt, negative where attempt and extras (or '') follow; payload }
-- WHY     the lease expiry is the job's next due time, so an expired lease needs no recoverer
local us = readTime(ARGV[1])
local now = math.floor(us / 1000)
local leaseMs, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
local instance, parts = ARGV[6], tonumber(ARGV[11])
local meta = redis.call('HMGET', KEYS[4], 'last', 'told', 'paused', 'bucket', 'filled', 'watcher', 'heard', 'capped', 'split')
local told = tonumber(meta[2]) or math.huge
local changes = {}

if meta[3] then
  if meta[2] then redis.call('HDEL', KEYS[4], 'told') end
  return { -1, us, 0, 0, 0 }
end

-- How many leases protect a job, and the end of the first. Looks at every lease, but only where the bound is near.
local function countInFlight()
  local count, first = 0, math.huge
  for _, value in ipairs(redis.call('HVALS', KEYS[3])) do
    local lease = readLease(value)
    if lease and lease.expiresAt > now then
      count = count + 1
      first = math.min(first, lease.expiresAt)
    end
  end
  return count, first
end

local maxInFlight = tonumber(ARGV[4]) or math.huge
local allowed = limit
local isBoundNear = maxInFlight < math.huge and redis.call('HLEN', KEYS[3]) + limit > maxInFlight
if isBoundNear then allowed = math.min(allowed, math.max(0, maxInFlight - countInFlight())) end
local tokens, rateLimit, perMs
if ARGV[5] ~= '' then
  local burst
  rateLimit, perMs, burst = string.match(ARGV[5], '^([^,]+),([^,]+),([^,]+)$')
  burst = tonumber(burst)
  tokens = meta[4] and meta[4] + (us / 1000 - meta[5]) * rateLimit / perMs or burst
  -- A clock that was set back takes no tokens away for long: what is there counts from here on.
  tokens = math.max(0, math.min(burst, tokens))
  allowed = math.min(allowed, math.floor(tokens))
end

local firstToken = nextNumber(meta[1], us)
firstToken = firstToken + (tonumber(ARGV[10]) - firstToken) % parts
local token = firstToken
local reply = { 0, us, 0, firstToken, 0 }
local moves, leases = {}, {}
local unreadable, dropped = {}, {}
local taken, bytes = 0, 0
local head = math.huge
local full = false

local function drop(member, field)
  dropped[#dropped + 1] = field
  redis.call('ZREM', KEYS[1], member)
  redis.call('HDEL', KEYS[2], field)
  redis.call('HDEL', KEYS[3], field)
end

-- A record that is missing, garbage or of a newer version is kept as a dead letter, whole, for a person to look at.
local function bury(number, field, record)
  local id = idOf(field)
  local extras = '{"deadReason":"unreadable"}'
  local facts = '0,' .. now .. ',' .. now .. ',' .. #id .. ',' .. #extras
  redis.call('HSET', KEYS[7], text(number), CURRENT .. facts .. ';' .. id .. extras .. (record or ''))
  redis.call('ZADD', KEYS[6], text(number), text(number))
end

-- A job beside the one its id names is found by its token, so it is named anew with each lease.
local function rename(member, field, order)
  local id = idOf(field)
  local old = string.sub(field, #id + 2)
  local new = id .. '\0' .. text(token)
  redis.call('HSET', KEYS[2], new, redis.call('HGET', KEYS[2], field))
  redis.call('ZREM', KEYS[1], member)
  redis.call('HDEL', KEYS[2], field)
  redis.call('HDEL', KEYS[3], field)
  local list = ' ' .. (redis.call('HGET', KEYS[5], id) or '') .. ' '
  local from, to = string.find(list, ' ' .. old .. ' ', 1, true)
  if from then list = string.sub(list, 1, from) .. text(token) .. string.sub(list, to) end
  redis.call('HSET', KEYS[5], id, string.sub(list, 2, -2))
  return order .. new, new
end

local expiresAt = text(now + leaseMs)

local function give(member, field, order, attempt, dueAt)
  local place = #moves
  moves[place + 1] = expiresAt
  moves[place + 2] = member
  leases[place + 1] = field
  leases[place + 2] = order .. text(token) .. ',' .. dueAt .. ',' .. attempt .. ',' .. expiresAt .. ','
  token = token + parts
  taken = taken + 1
end

local function takeOdd(member, field, score, record, lease)
  if lease and lease.flags ~= '' then return drop(member, field) end
  local order, attempt, extras, payload = readRecord(record)
  -- The id may have been scheduled again over an unreadable record: then only this place is stale.
  if order and order ~= string.sub(member, 1, 7) then return redis.call('ZREM', KEYS[1], member) end
  if not order then
    unreadable[#unreadable + 1] = { field, record }
    return drop(member, field)
  end
  if string.find(field, '\0', 1, true) then member, field = rename(member, field, order) end
  local dueAt = lease and lease.dueAt or score
  attempt = (lease and lease.attempt or attempt) + 1
  give(member, field, order, text(attempt), dueAt)
  bytes = bytes + #record
  local place = #reply
  reply[place + 1] = idOf(field)
  reply[place + 2] = dueAt
  reply[place + 3] = -scheduledAtOf(order)
  reply[place + 4] = payload
  reply[place + 5] = attempt
  reply[place + 6] = extras
end

local function take(member, score, record, held)
  local field = string.sub(member, 8)
  local isPlain = record and not held and string.byte(record, 1) == 49 and string.byte(record, 9) == 59
  local order = isPlain and string.sub(record, 2, 8)
  if not isPlain or order ~= string.sub(member, 1, 7) or string.find(field, '\0', 1, true) then
    return takeOdd(member, field, score, record, readLease(held))
  end
  -- Claimed for the first time, and nothing special about it: nearly every job.
  give(member, field, order, '1', score)
  bytes = bytes + #record
  local place = #reply
  reply[place + 1] = field
  reply[place + 2] = score
  reply[place + 3] = scheduledAtOf(order)
  reply[place + 4] = string.sub(record, 10)
end

-- Reads `count` due jobs, in chunks, and fewer where they are large. Returns how many.
local function takeAll(range, count)
  local done = 0
  while done < count do
    -- The first chunk is small: a record may be a megabyte.
    local average = taken > 0 and bytes / taken or 262144
    local size = math.min(count - done, math.max(1, math.floor((ARGV[9] - bytes) / math.max(average, 100))))
    local fields = {}
    for i = 1, size do fields[i] = string.sub(range[2 * (done + i) - 1], 8) end
    local records = redis.call('HMGET', KEYS[2], unpack(fields))
    local held = redis.call('HMGET', KEYS[3], unpack(fields))
    for i = 1, size do
      take(range[2 * (done + i) - 1], range[2 * (done + i)], records[i], held[i])
    end
    done = done + size
    if bytes >= tonumber(ARGV[9]) then return done end
  end
  return done
end

local function write()
  inChunks(moves, 2, function(...) redis.call('ZADD', KEYS[1], ...) end)
  inChunks(leases, 2, function(...) redis.call('HSET', KEYS[3], ...) end)
  moves, leases = {}, {}
end

-- One entry more than wanted, which is the head behind them. Jobs that were cancelled in flight are dropped on the way,
-- so there may be more rounds than one.
repeat
  local want = allowed - taken
  local range = redis.call('ZRANGE', KEYS[1], 0, want, 'WITHSCORES')
  local found, due = #range / 2, 0
  while due < math.min(found, want) and tonumber(range[2 * due + 2]) <= now do due = due + 1 end
  local done = takeAll(range, due)
  head = tonumber(range[2 * done + 2]) or math.huge
  write()
  full = bytes >= tonumber(ARGV[9])
until full or taken >= allowed or done == 0 or done < want
if meta[9] and #dropped > 0 then
  reattach(KEYS, dropped)
  head = tonumber(redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]) or math.huge
end

if taken > 0 then head = math.min(head, now + leaseMs) end
local waitUs = math.max(0, head * 1000 - us)
local capped = '0'
if isBoundNear then
  local count, first = countInFlight()
  if count >= maxInFlight then
    capped = '1'
    waitUs = math.max(waitUs, first * 1000 - us)
  end
end
if tokens then
  tokens = tokens - taken
  if tokens < 1 then waitUs = math.max(waitUs, math.ceil((1 - tokens) * perMs / rateLimit * 1000 - 1e-6)) end
  changes = { 'bucket', string.format('%.17g', tokens), 'filled', string.format('%.17g', us / 1000) }
end

local function set(name, value)
  changes[#changes + 1] = name
  changes[#changes + 1] = value
end
for _, found in ipairs(unreadable) do
  bury(token, found[1], found[2])
  token = token + 1
end
if token > firstToken then set('last', text(token - 1)) end
if capped ~= (meta[8] or '0') then set('capped', capped) end
local tell = waitUs == math.huge and math.huge or math.ceil((us + waitUs) / 1000)

-- Who comes for a head that was told watches the next one; the others were told to leave it to the watcher for a while,
-- and hear of the next. While there is more than one instance can take, everyone comes.
local watcher = meta[6] or ''
if waitUs == 0 or taken == limit then watcher = '' elseif told <= now or watcher == '' then watcher = instance end
local before = meta[6] or ''
if (watcher ~= before or (told <= now and watcher ~= '')) and (tonumber(meta[7]) or 0) > 1 then
  local heard = redis.call(ARGV[7], ARGV[8], 'head ' .. watcher .. ' ' .. (waitUs == math.huge and 'inf' or text(waitUs)))
  if tostring(heard) ~= meta[7] then set('heard', heard) end
end
if watcher ~= before then set('watcher', watcher) end
if tell == math.huge then
  if meta[2] then redis.call('HDEL', KEYS[4], 'told') end
elseif tell ~= told then
  set('told', text(tell))
end
if #changes > 0 then redis.call('HSET', KEYS[4], unpack(changes)) end
reply[1] = waitUs == math.huge and -1 or waitUs
reply[3] = watcher == instance and 1 or 0
reply[5] = #unreadable
return reply
