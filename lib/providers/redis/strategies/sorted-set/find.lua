-- find: read one page of jobs in due order.
-- CALLED BY SortedSet.find. COST O(leases + limit * log n). ATOMIC yes.
-- KEYS[1] due     zset  order .. field -> dueAt, or lease expiry once claimed; epoch ms
-- KEYS[2] jobs    hash  field -> record                KEYS[3] leases  hash  field -> lease
-- ARGV[1] now     epoch ms, or '' for the server's clock
-- ARGV[2] state   'pending' or 'in-flight'             ARGV[3] from, ARGV[4] to  due times, epoch ms; '-inf', '+inf'
-- ARGV[5] limit   1..500
-- ARGV[6] after, ARGV[7] afterHex  due time and member (hexadecimal) of the last job of the page before, or ''
-- RETURNS { cursor ('' after the last page, else 'dueAt hex'), then four a job: id;
--           'dueAt,scheduledAt,attempt,leaseExpiresAt or empty'; payload; extras or '' }
-- WHY     a job in flight has its place at the end of its lease, so leases are looked through, and left out of the walk
local now = math.floor(readTime(ARGV[1]) / 1000)
local from, to, limit = ARGV[3], ARGV[4], tonumber(ARGV[5])
local low, high = tonumber(from) or -math.huge, tonumber(to) or math.huge
local after = tonumber(ARGV[6])
local afterMember = string.gsub(ARGV[7], '..', function(hex) return string.char(tonumber(hex, 16)) end)

local function isBehind(dueAt, member)
  return not after or dueAt > after or (dueAt == after and member > afterMember)
end

local found, leases = {}, {}
local held = redis.call('HGETALL', KEYS[3])
for i = 1, #held, 2 do
  local lease = readLease(held[i + 1])
  if lease then
    leases[held[i]] = lease
    local inFlight = lease.expiresAt > now
    local dueAt, member = tonumber(lease.dueAt), lease.order .. held[i]
    local wanted = inFlight == (ARGV[2] == 'in-flight') and (inFlight or lease.flags == '')
    if wanted and dueAt >= low and dueAt <= high and isBehind(dueAt, member) then
      found[#found + 1] = { dueAt, member }
    end
  end
end

-- The rank of the first place behind (score, member), which need not be there any more.
local function rankBehind(score, member)
  local first = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. text(score))
  local last = first + redis.call('ZCOUNT', KEYS[1], text(score), text(score))
  while first < last do
    local middle = math.floor((first + last) / 2)
    if redis.call('ZRANGE', KEYS[1], middle, middle)[1] > member then last = middle else first = middle + 1 end
  end
  return first
end

if ARGV[2] == 'pending' then
  local rank = redis.call('ZCOUNT', KEYS[1], '-inf', from == '-inf' and '(-inf' or '(' .. from)
  if after and after >= low then rank = rankBehind(after, afterMember) end
  local left = limit + 1
  while left > 0 do
    local range = redis.call('ZRANGE', KEYS[1], rank, rank + limit, 'WITHSCORES')
    for i = 1, #range, 2 do
      local score = tonumber(range[i + 1])
      if score > high or left == 0 then
        left = 0
      elseif not leases[string.sub(range[i], 8)] then
        found[#found + 1] = { score, range[i] }
        left = left - 1
      end
    end
    if #range < 2 * (limit + 1) then break end
    rank = rank + limit + 1
  end
end

table.sort(found, function(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end)
local reply = { '' }
for i = 1, math.min(limit, #found) do
  local field = string.sub(found[i][2], 8)
  local order, attempt, extras, payload = readRecord(redis.call('HGET', KEYS[2], field))
  if order then
    local count = #reply
    reply[count + 1] = idOf(field)
    reply[count + 2] = describe(order, leases[field], text(found[i][1]), attempt, now)
    reply[count + 3] = payload
    reply[count + 4] = extras
  end
end
if #found > limit then
  local hex = string.gsub(found[limit][2], '.', function(char) return string.format('%02x', string.byte(char)) end)
  reply[1] = text(found[limit][1]) .. ' ' .. hex
end
return reply
