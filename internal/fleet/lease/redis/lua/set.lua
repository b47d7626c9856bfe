-- set: uid, member, namespace, instance, address, latency, healthy, capacity, per target, attributes, doc, teller
local now, uid, m, namespace, instance, address = clock(), ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local attributes, doc, teller = ARGV[11], ARGV[12], ARGV[13]
if not expire(now) then return {'more'} end
local p = proxy(uid)
if p and p.doc == doc then return tell(teller, false) end

local key = K .. ':p:' .. uid
local is = {uid = uid, m = m, ok = ARGV[8] == '1', lat = tonumber(ARGV[7]), cap = tonumber(ARGV[9]), per = tonumber(ARGV[10]), held = K .. ':held:' .. uid, pools = ''}
if p then
  local inst, ns, attrs = unpack(call('HMGET', key, 'inst', 'ns', 'attrs'))
  is.gen, is.pools = p.gen, p.pools
  close(p)
  if inst ~= instance then
    end_all(p, now)
    is.gen = nil
  else
    keep(p)
  end
  if p.addr ~= address then end_cooldowns(p) end
  limit(p.per, -1)
  if p.m ~= m or attrs ~= attributes then
    part(p, ns, attrs)
    for _, target in ipairs(call('HKEYS', K .. ':cooling:' .. uid)) do
      local till = call('ZSCORE', K .. ':resting:' .. target, p.m)
      call('ZREM', K .. ':resting:' .. target, p.m)
      if till then call('ZADD', K .. ':resting:' .. target, till, m) end
    end
    p = nil
  end
end
if not p then
  local pools = {}
  local selectors = call('HGETALL', SELECTORS)
  for i = 1, #selectors, 2 do
    if matches(selectors[i + 1], namespace, attributes) then pools[#pools + 1] = selectors[i] .. ' ' end
  end
  is.pools = table.concat(pools)
  each_pool(is, function(n) call('ZADD', K .. ':all:' .. n, 0, m) end)
  call('SADD', K .. ':in:' .. namespace, m)
  each_pair(attributes, function(set) call('SADD', set, m) end)
end

-- Leases by target are counted where they are limited.
limit(is.per, 1)
call('DEL', K .. ':on:' .. uid)
local held = call('ZRANGE', is.held, 0, -1)
for i = 1, is.per > 0 and #held or 0 do
  call('HINCRBY', K .. ':on:' .. uid, lease(held[i])[TARGET], 1)
end
is.gen = is.gen or call('HINCRBY', META, 'gen', 1)
call('HSET', key, 'gen', is.gen, 'm', m, 'ns', namespace, 'inst', instance, 'addr', address, 'lat', is.lat, 'ok', ARGV[8],
  'cap', is.cap, 'per', is.per, 'attrs', attributes, 'doc', doc, 'pools', is.pools)
if not is.ok or is.cap > 0 and #held >= is.cap then call('ZADD', REST, #held, m) end
if is.ok then
  local open = is.cap == 0 or #held < is.cap
  local score = open and #held * SCALE + is.lat or first_end(is)
  each_pool(is, function(n) call('ZADD', K .. (open and ':open:' or ':full:') .. n, score, m) end)
end
return tell(teller, true)
