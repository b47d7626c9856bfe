-- What changes when a proxy does.

-- tell counts changes, and notes who tells of proxies: the next one begins a term.
local function tell(teller, changed)
  local was, term, told = unpack(call('HMGET', META, 'teller', 'term', 'told'))
  if was ~= teller then
    call('HSET', META, 'teller', teller)
    term = call('HINCRBY', META, 'term', 1)
  end
  if changed then told = call('HINCRBY', META, 'told', 1) end
  return {'told', tonumber(term), tonumber(told or 0)}
end

-- end_all ends the leases of an instance that is gone.
local function end_all(p, now)
  for _, id in ipairs(call('ZRANGE', p.held, 0, -1)) do
    local l = lease(id)
    if l and l[REQUEST] and call('HGET', REQUESTS, l[REQUEST]) == id then call('HDEL', REQUESTS, l[REQUEST]) end
    call('ZADD', DUE, now + WINDOW, id)
  end
  call('DEL', p.held, K .. ':on:' .. p.uid)
end

-- keep lets the leases that a proxy carries tell of it as it was granted.
local function keep(p)
  for _, id in ipairs(call('ZRANGE', p.held, 0, -1)) do
    local l = lease(id)
    if not l[DOC] then
      l[DOC] = p.doc
      call('HSET', LEASES, id, cmsgpack.pack(l))
    end
  end
end

local function end_cooldowns(p)
  for _, target in ipairs(call('HKEYS', K .. ':cooling:' .. p.uid)) do
    call('ZREM', K .. ':resting:' .. target, p.m)
    call('ZREM', DUE, '~' .. p.uid .. '\0' .. target)
  end
  call('DEL', K .. ':cooling:' .. p.uid)
end

local function limit(per, by)
  if per > 0 then call('HINCRBY', META, 'limited', by) end
end

local function each_pool(p, f)
  f('0')
  for n in string.gmatch(p.pools, '%d+') do f(n) end
end

-- close takes a proxy from where selection would find it.
local function close(p)
  each_pool(p, function(n)
    call('ZREM', K .. ':open:' .. n, p.m)
    call('ZREM', K .. ':full:' .. n, p.m)
  end)
  call('ZREM', REST, p.m)
end

-- part takes a proxy, which is closed, from the pools and the sets that they are made of.
local function part(p, namespace, attributes)
  each_pool(p, function(n) call('ZREM', K .. ':all:' .. n, p.m) end)
  call('SREM', K .. ':in:' .. namespace, p.m)
  each_pair(attributes, function(key) call('SREM', key, p.m) end)
end

local function matches(selector, namespace, attributes)
  local want, pairs_of_it = string.match(selector, '^([^%z]*)%z(.*)$')
  if want ~= '' and want ~= namespace then return false end
  local found = '\0' .. attributes
  for key, value in string.gmatch(pairs_of_it, '([^%z]*)%z([^%z]*)%z') do
    if not string.find(found, '\0' .. key .. '\0' .. value .. '\0', 1, true) then return false end
  end
  return true
end
