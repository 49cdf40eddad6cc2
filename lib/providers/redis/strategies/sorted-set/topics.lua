-- topics: register a topic of the queue, or list those registered.
-- CALLED BY SortedSet.topics and whatever stores something. COST O(topics). ATOMIC yes.
-- KEYS[1] topics  set  names of the topics that ever stored something
-- ARGV[1] topic   to register, or '' to list
-- RETURNS { topic, topic, ... } when listing, else {}
-- WHY     each topic's keys may lie on a node of their own, so no script can look for them
if ARGV[1] == '' then return redis.call('SMEMBERS', KEYS[1]) end
redis.call('SADD', KEYS[1], ARGV[1])
return {}
