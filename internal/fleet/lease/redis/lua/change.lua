-- What changes when a proxy does.
local COOLING = K .. ':cooling:'

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
local function end_all(uid, now)
  for _, id in ipairs(call('ZRANGE', HELD .. uid, 0, -1)) do
    local l = lease(id)
    if l[REQUEST] and call('HGET', REQUESTS, l[REQUEST]) == id then call('HDEL', REQUESTS, l[REQUEST]) end
    call('ZREM', DUE, id)
    call('RPUSH', ENDED, text(now + WINDOW), id)
  end
  call('DEL', HELD .. uid, ON .. uid)
end

-- keep lets the leases that a proxy carries tell of it as it was granted.
local function keep(uid, doc)
  for _, id in ipairs(call('ZRANGE', HELD .. uid, 0, -1)) do
    local l = lease(id)
    if not l[DOC] then
      l[DOC] = doc
      call('HSET', LEASES, id, cmsgpack.pack(l))
    end
  end
end

local function end_cooldowns(uid, p)
  for _, target in ipairs(call('HKEYS', COOLING .. uid)) do
    call('ZREM', RESTING .. target, p.m)
    call('ZREM', DUE, '~' .. uid .. '\0' .. target)
  end
  call('DEL', COOLING .. uid)
end

-- move_cooldowns follows a proxy that is another member.
local function move_cooldowns(uid, from, to)
  for _, target in ipairs(call('HKEYS', COOLING .. uid)) do
    local till = call('ZSCORE', RESTING .. target, from)
    call('ZREM', RESTING .. target, from)
    call('ZADD', RESTING .. target, till, to)
  end
end

local function limit(per, by)
  if per > 0 then call('HINCRBY', META, 'limited', by) end
end

-- enlist and strike keep the sets that pools are made of.
local function enlist(p, command)
  call(command, K .. ':members', p.m)
  call(command, K .. ':in:' .. p.ns, p.m)
  each_pair(p.attrs, function(set) call(command, set, p.m) end)
end

local function matches(selector, p)
  local namespace, attributes = string.match(selector, '^([^%z]*)%z(.*)$')
  if namespace ~= '' and namespace ~= p.ns then return false end
  local has = '\0' .. p.attrs
  for key, value in string.gmatch(attributes, '([^%z]*)%z([^%z]*)%z') do
    if not string.find(has, '\0' .. key .. '\0' .. value .. '\0', 1, true) then return false end
  end
  return true
end

local function pools_of(p)
  local pools, selectors = {}, call('HGETALL', SELECTORS)
  for i = 1, #selectors, 2 do
    if matches(selectors[i + 1], p) then pools[#pools + 1] = selectors[i] end
  end
  return pools
end
