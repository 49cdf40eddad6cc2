-- settings: read the small facts about a topic, or write one.
-- CALLED BY SortedSet.readSettings and writeSetting. COST O(settings). ATOMIC yes.
-- KEYS[1] settings  hash  name -> value
-- ARGV[1] change  '' to read, 'set' or 'remove'        ARGV[2] name    ARGV[3] value
-- RETURNS { name, value, name, value, ... } when reading, else {}
-- WHY     a script answers in the same form to every kind of client
if ARGV[1] == 'set' then
  redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
elseif ARGV[1] == 'remove' then
  redis.call('HDEL', KEYS[1], ARGV[2])
else
  return redis.call('HGETALL', KEYS[1])
end
return {}
