-- shared: what the scripts have in common. Put in front of each of them; uses no KEYS and no ARGV.
--
-- order   7 bytes, big-endian: (epoch ms of scheduling) * 1024 + a counter within it. Equal scores of a sorted set stand
--         in the order of their members, so a member that begins with it keeps the order of scheduling.
-- field   what names a job in the hashes: its id; or id .. '\0' .. token, of a job whose id was scheduled again meanwhile.
-- member  of the due set: order .. field
-- record  version .. order .. [attempt[,length of extras]] .. ';' .. extras .. payload. Payload and extras are never decoded
--         here: cjson would make an empty list an object, and round numbers.
-- lease   order .. 'token,dueAt,attempt,expiresAt,flags'; flags: c cancelled, a abort
local ORDERS_PER_MS = 1024
local CURRENT = '1'
local CHUNK = 500

-- ARGV and replies above this many values would not fit the stack of `unpack`.
local function inChunks(list, width, act)
  local step = CHUNK * width
  for first = 1, #list, step do
    act(unpack(list, first, math.min(first + step - 1, #list)))
  end
end

-- Epoch microseconds.
local function readTime(given)
  if given ~= '' then return given * 1000 end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function text(number)
  return string.format('%.0f', number)
end

-- The first of a run of numbers that rise for ever, whatever the clock does: orders, tokens, names of dead letters. A last
-- number past what a double can count is garbage; the clock alone then rules.
local function nextNumber(last, us)
  last = tonumber(last) or 0
  local byClock = math.floor(us / 1000) * ORDERS_PER_MS
  if last >= 9007199254740991 or last < byClock then return byClock end
  return last + 1
end

local function scheduledAtOf(order)
  return math.floor(struct.unpack('>I7', order) / ORDERS_PER_MS)
end

local function idOf(field)
  local stop = string.find(field, '\0', 1, true)
  return stop and string.sub(field, 1, stop - 1) or field
end

local function makeRecord(order, attempt, extras, payload)
  if attempt == 0 and extras == '' then return CURRENT .. order .. ';' .. payload end
  local head = extras == '' and text(attempt) or text(attempt) .. ',' .. #extras
  return CURRENT .. order .. head .. ';' .. extras .. payload
end

-- Version 0 had neither attempts nor extras. nil for what cannot be read.
local function readRecord(record)
  if not record or #record < 9 then return nil end
  local version = string.sub(record, 1, 1)
  local order = string.sub(record, 2, 8)
  if version == '0' then return order, 0, '', string.sub(record, 9) end
  if version ~= CURRENT then return nil end
  local stop = string.find(record, ';', 9, true)
  if not stop then return nil end
  if stop == 9 then return order, 0, '', string.sub(record, 10) end
  local attempt, length = string.match(string.sub(record, 9, stop - 1), '^(%d+),?(%d*)$')
  if not attempt then return nil end
  length = tonumber(length) or 0
  return order, tonumber(attempt), string.sub(record, stop + 1, stop + length), string.sub(record, stop + length + 1)
end

-- Whether the lease is the one of the token.
local function holds(value, token)
  return value and string.find(value, token, 8, true) == 8 and string.byte(value, 8 + #token) == 44
end

local function makeLease(order, token, dueAt, attempt, expiresAt, flags)
  return order .. text(token) .. ',' .. dueAt .. ',' .. attempt .. ',' .. text(expiresAt) .. ',' .. flags
end

-- nil for none, and for what cannot be read.
local function readLease(value)
  if not value then return nil end
  local token, dueAt, attempt, expiresAt, flags = string.match(value, '^(%d+),(%-?%d+),(%d+),(%-?%d+),(%a*)$', 8)
  if not token then return nil end
  return {
    order = string.sub(value, 1, 7),
    token = token,
    dueAt = dueAt,
    attempt = tonumber(attempt),
    expiresAt = tonumber(expiresAt),
    flags = flags,
  }
end

-- Due time asked for, epoch ms. 'd<ms>' counts from now, rounded up so that nothing is early; 'a<epoch ms>' is an instant.
local function readDue(kind, amount, us)
  if kind == 'a' then return amount end
  if amount == 0 then return math.floor(us / 1000) end
  return math.ceil(us / 1000) + amount
end

-- Tells the sleepers of a new head, if it is earlier than what they were told. One of them watches the head closely; the
-- message says who, and how long it is until then, microseconds. `...` is what else to set in meta.
local function announce(meta, told, watcher, head, us, publish, channel, ...)
  if head < (tonumber(told) or math.huge) then
    local message = 'head ' .. (watcher or '') .. ' ' .. text(math.max(0, head * 1000 - us))
    redis.call('HSET', meta, 'told', text(head), 'heard', redis.call(publish, channel, message), ...)
  elseif select('#', ...) > 0 then
    redis.call('HSET', meta, ...)
  end
end

-- One of the jobs that were moved aside is gone.
local function forgetDetached(detached, id, token)
  local list = redis.call('HGET', detached, id) or ''
  local rest = string.gsub(' ' .. list .. ' ', ' ' .. token .. ' ', ' ', 1)
  list = string.match(rest, '^ *(.-) *$')
  if list == '' then redis.call('HDEL', detached, id) else redis.call('HSET', detached, id, list) end
end

-- The id is free: it names the latest of the jobs that were moved aside again.
local function returnId(keys, id)
  local due, jobs, leases, _, detached = unpack(keys)
  local token = string.match(redis.call('HGET', detached, id) or '', '^%d+')
  if not token then return end
  local field = id .. '\0' .. token
  local record, lease = redis.call('HGET', jobs, field), redis.call('HGET', leases, field)
  local member = record and string.sub(record, 2, 8) .. field or ''
  local score = redis.call('ZSCORE', due, member)
  redis.call('ZREM', due, member)
  redis.call('HDEL', jobs, field)
  redis.call('HDEL', leases, field)
  forgetDetached(detached, id, token)
  if not score then return returnId(keys, id) end
  redis.call('ZADD', due, score, string.sub(record, 2, 8) .. id)
  redis.call('HSET', jobs, id, record)
  if lease then redis.call('HSET', leases, id, lease) end
end

-- After jobs are gone: keys are those of due, jobs, leases, meta and detached.
local function reattach(keys, fields)
  for _, field in ipairs(fields) do
    local id = idOf(field)
    if id ~= field then forgetDetached(keys[5], id, string.sub(field, #id + 2)) end
  end
  for _, field in ipairs(fields) do
    if idOf(field) == field then returnId(keys, field) end
  end
  if redis.call('EXISTS', keys[5]) == 0 then redis.call('HDEL', keys[4], 'split') end
end

-- Removes the oldest dead letters past either bound. Returns how many.
local function retain(dead, letters, maxCount, oldestAt)
  local removed = 0
  local function removeThose(numbers)
    if #numbers == 0 then return end
    redis.call('ZREM', dead, unpack(numbers))
    redis.call('HDEL', letters, unpack(numbers))
    removed = removed + #numbers
  end
  local surplus = redis.call('ZCARD', dead) - maxCount
  while surplus > 0 do
    removeThose(redis.call('ZRANGE', dead, 0, math.min(surplus, CHUNK) - 1))
    surplus = surplus - CHUNK
  end
  local limit = '(' .. text(oldestAt * ORDERS_PER_MS)
  repeat
    local numbers = redis.call('ZRANGEBYSCORE', dead, '-inf', limit, 'LIMIT', 0, CHUNK)
    removeThose(numbers)
  until #numbers < CHUNK
  return removed
end

-- 'dueAt,scheduledAt,attempt,leaseExpiresAt'; the last is empty while no lease protects the job.
local function describe(order, lease, score, attempt, now)
  local facts = (lease and lease.dueAt or score) .. ',' .. text(scheduledAtOf(order)) .. ','
  facts = facts .. text(lease and lease.attempt or attempt) .. ','
  return lease and lease.expiresAt > now and facts .. text(lease.expiresAt) or facts
end
