-- Pools: of each selector that was asked for lately, the proxies that it matches. Pool 0
-- is all of them.

local function each_pair(attributes, f)
  for key, value in string.gmatch(attributes, '([^%z]*)%z([^%z]*)%z') do f(K .. ':has:' .. key .. '\0' .. value) end
end

-- sets are the keys whose intersection a selector matches. A selector is "namespace NUL"
-- and "key NUL value NUL" for each pair.
local function sets(selector)
  local namespace, attributes = string.match(selector, '^([^%z]*)%z(.*)$')
  local keys = {}
  if namespace ~= '' then keys[1] = K .. ':in:' .. namespace end
  each_pair(attributes, function(key) keys[#keys + 1] = key end)
  return keys
end

-- evict drops the pool that was not asked for the longest.
local function evict()
  local n = call('ZRANGE', K .. ':used', 0, 0)[1]
  for _, m in ipairs(call('ZRANGE', K .. ':all:' .. n, 0, -1)) do
    local key = K .. ':p:' .. uid_of(m)
    local pools = string.gsub(' ' .. call('HGET', key, 'pools'), ' ' .. n .. ' ', ' ', 1)
    call('HSET', key, 'pools', string.sub(pools, 2))
  end
  call('HDEL', META, 'pool:' .. call('HGET', SELECTORS, n))
  call('HDEL', SELECTORS, n)
  call('ZREM', K .. ':used', n)
  call('DEL', K .. ':all:' .. n, K .. ':open:' .. n, K .. ':full:' .. n)
end

-- new_pool returns nil for a selector that matches nothing: there is nothing to keep.
local function new_pool(selector, now)
  local keys = sets(selector)
  local n = call('HINCRBY', META, 'pools', 1)
  local store = {'ZINTERSTORE', K .. ':all:' .. n, #keys, unpack(keys)}
  store[#store + 1] = 'WEIGHTS'
  for _ = 1, #keys do store[#store + 1] = 0 end
  if call(unpack(store)) == 0 then return nil end
  while call('ZCARD', K .. ':used') >= @POOLS@ do evict() end
  for _, kind in ipairs({':open:', ':full:'}) do
    call('ZINTERSTORE', K .. kind .. n, 2, K .. kind .. '0', K .. ':all:' .. n, 'WEIGHTS', 1, 0)
  end
  for _, m in ipairs(call('ZRANGE', K .. ':all:' .. n, 0, -1)) do
    local key = K .. ':p:' .. uid_of(m)
    call('HSET', key, 'pools', call('HGET', key, 'pools') .. n .. ' ')
  end
  call('HSET', META, 'pool:' .. selector, n)
  call('HSET', SELECTORS, n, selector)
  call('ZADD', K .. ':used', now, n)
  return n
end
