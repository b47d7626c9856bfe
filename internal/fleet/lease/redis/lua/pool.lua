-- Pools: of each selector that was asked for lately, the proxies that it matches.
local ALL, SELECTORS, USED = K .. ':all:', K .. ':selectors', K .. ':used'

-- uid_of is the third part of a member, name_of the two before it.
local function uid_of(m) return string.match(m, '^[^%z]*%z[^%z]*%z(.*)$') end
local function name_of(m) return string.match(m, '^[^%z]*%z[^%z]*%z') end

local function each_pair(attributes, f)
  for key, value in string.gmatch(attributes, '([^%z]*)%z([^%z]*)%z') do f(K .. ':has:' .. key .. '\0' .. value) end
end

-- add puts a proxy with n leases into some of its pools, from where refile moves it.
local function add(uid, p, pools, n)
  local open = p.cap == 0 or n < p.cap
  local score = p.ok and text(open and n * SCALE + p.lat or first_end(uid))
  for _, pool in ipairs(pools) do
    call('ZADD', ALL .. pool, 0, p.m)
    if score then call('ZADD', (open and OPEN or FULL) .. pool, score, p.m) end
  end
end

local function take(p)
  for _, pool in ipairs(p.pools) do
    call('ZREM', ALL .. pool, p.m)
    call('ZREM', OPEN .. pool, p.m)
    call('ZREM', FULL .. pool, p.m)
  end
end

-- evict drops the pool that was not asked for the longest.
local function evict()
  local n = call('ZRANGE', USED, 0, 0)[1]
  for _, m in ipairs(call('ZRANGE', ALL .. n, 0, -1)) do
    local uid = uid_of(m)
    local p = proxy(uid)
    for i, pool in ipairs(p.pools) do
      if pool == n then table.remove(p.pools, i) end
    end
    call('HSET', PROXIES, uid, cmsgpack.pack(p))
  end
  call('HDEL', META, 'pool:' .. call('HGET', SELECTORS, n))
  call('HDEL', SELECTORS, n)
  call('ZREM', USED, n)
  call('DEL', ALL .. n, OPEN .. n, FULL .. n)
end

-- new_pool makes one for a selector, which is "namespace NUL" and "key NUL value NUL" for
-- each pair. It returns nil for one that matches nothing: there is nothing to keep.
local function new_pool(selector, now)
  local namespace, attributes = string.match(selector, '^([^%z]*)%z(.*)$')
  local sets = {namespace == '' and K .. ':members' or K .. ':in:' .. namespace}
  each_pair(attributes, function(set) sets[#sets + 1] = set end)
  local members = call('SINTER', unpack(sets))
  if #members == 0 then return nil end
  while call('ZCARD', USED) >= @POOLS@ do evict() end
  local n = text(call('HINCRBY', META, 'pools', 1))
  for _, m in ipairs(members) do
    local uid = uid_of(m)
    local p = proxy(uid)
    p.pools[#p.pools + 1] = n
    call('HSET', PROXIES, uid, cmsgpack.pack(p))
    add(uid, p, {n}, call('ZCARD', HELD .. uid))
  end
  call('HSET', META, 'pool:' .. selector, n)
  call('HSET', SELECTORS, n, selector)
  call('ZADD', USED, text(now), n)
  return n
end
