-- acquire: id, again, ttl, target, selector, touch, session, request, digest, policy, excluded "namespace NUL name NUL"…
local now, id, again, ttl, target, selector, touch = clock(), ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7]
local session, request, digest, policy = ARGV[8], ARGV[9], ARGV[10], ARGV[11]
if not expire(now) then return {'more'} end

-- same is the answer to a request that was granted before.
local function same(id)
  local l = lease(id)
  local p = l and holder(id, l)
  return p and granted(id, l, p) or {'lost'}
end

if again == '1' and call('HEXISTS', LEASES, id) == 1 then return same(id) end
if request ~= '' then
  local had = call('HGET', REQUESTS, request)
  if had then
    local l = lease(had)
    if l and l[DIGEST] ~= digest then return {'reused'} end
    return same(had)
  end
end

local n, fence, limited -- limited is how many proxies have a limit per target
if selector == '\0' then
  n, fence, limited = '0', unpack(call('HMGET', META, 'fence', 'limited'))
else
  n, fence, limited = unpack(call('HMGET', META, 'pool:' .. selector, 'fence', 'limited'))
  if not n then
    n = new_pool(selector, now)
    if not n then return {'none', 0, 0, 0, 0, 0} end
  elseif touch == '1' then
    call('ZADD', K .. ':used', now, n)
  end
end
local open = K .. ':open:' .. n

local excluded
if ARGV[12] then
  excluded = {}
  for i = 12, #ARGV do excluded[ARGV[i]] = true end
end

-- Why members that could take a lease for something cannot for this target.
local refused = {full = 0, cooling = 0, excluded = 0, wait = nil}
local function wait(till)
  if till and till > now and (not refused.wait or till - now < refused.wait) then refused.wait = till - now end
end

local function full(uid)
  local per = tonumber(call('HGET', K .. ':p:' .. uid, 'per'))
  return per > 0 and (tonumber(call('HGET', K .. ':on:' .. uid, target)) or 0) >= per
end

-- suits returns the first of some members that suits, and counts those that do not.
limited = tonumber(limited or 0) > 0
local function suits(ms)
  local rests = call('ZMSCORE', K .. ':resting:' .. target, unpack(ms))
  local every = target ~= '' and call('ZMSCORE', K .. ':resting:', unpack(ms)) or rests
  for i, m in ipairs(ms) do
    local till = math.max(rests[i] and tonumber(rests[i]) or 0, every[i] and tonumber(every[i]) or 0)
    local uid = (limited or till <= now) and uid_of(m)
    if excluded and excluded[name_of(m)] then
      refused.excluded = refused.excluded + 1
    elseif limited and full(uid) then
      refused.full = refused.full + 1
      wait(first_end({held = K .. ':held:' .. uid}))
    elseif till > now then
      refused.cooling = refused.cooling + 1
      wait(till)
    else
      return uid, m
    end
  end
end

-- fittest walks the pool in pieces that grow.
local function fittest()
  local at, size = 0, 4
  repeat
    local ms = call('ZRANGE', open, at, at + size - 1)
    if #ms == 0 then return nil end
    local uid = suits(ms)
    if uid then return uid end
    at, size = at + #ms, math.min(size * 8, 512)
  until false
end

-- bound returns the proxy that the session had, if that suits, and whether it had one.
local function bound()
  local had = call('HGET', SESSIONS, session)
  local l = had and lease(had)
  if not l then return nil, false end
  local p = proxy(l[UID])
  if p and p.gen == l[GEN] and call('ZSCORE', open, p.m) then
    local uid = suits({p.m})
    if uid then return uid, true end
  end
  return nil, true
end

local function refusal()
  local all, considered = K .. ':all:' .. n, call('ZCARD', K .. ':all:' .. n)
  local at_capacity = call('ZCARD', K .. ':full:' .. n)
  local unhealthy = considered - at_capacity - call('ZCARD', open)
  considered = considered - refused.excluded
  local skip = {}
  for name in pairs(excluded or {}) do
    for _, m in ipairs(call('ZRANGE', all, '[' .. name, '(' .. string.sub(name, 1, -2) .. '\1', 'BYLEX')) do
      if call('ZSCORE', K .. ':full:' .. n, m) then
        skip[m], considered, at_capacity = true, considered - 1, at_capacity - 1
      elseif not call('ZSCORE', open, m) then
        considered, unhealthy = considered - 1, unhealthy - 1
      end
    end
  end
  local ends = call('ZRANGE', K .. ':full:' .. n, 0, #ARGV - 11, 'WITHSCORES')
  for i = 1, #ends, 2 do
    if not skip[ends[i]] then
      wait(tonumber(ends[i + 1]))
      break
    end
  end
  return {'none', considered, unhealthy, at_capacity + refused.full, refused.cooling, refused.wait or 0}
end

local uid, had
if session ~= '' then
  uid, had = bound()
  refused.full, refused.cooling, refused.excluded = 0, 0, 0
end
local rebound = had and not uid and 1 or 0
uid = uid or fittest()
if not uid then return refusal() end

local p = proxy(uid)
fence = math.max(now, (tonumber(fence) or 0) + 1)
local l = {uid, p.gen, p.addr, target, ttl, fence, selector, session ~= '' and session, request ~= '' and request, digest, rebound, false}
-- Another try of this very call may have come first.
if call('HSETNX', LEASES, id, cmsgpack.pack(l)) == 0 then return same(id) end
call('HSET', META, 'fence', fence)
call('ZADD', p.held, now + ttl, id)
call('ZADD', DUE, now + ttl, id)
local held = call('ZCARD', p.held)
refile(p, held - 1, held)
if p.per > 0 then call('HINCRBY', K .. ':on:' .. uid, target, 1) end
if session ~= '' then call('HSET', SESSIONS, session, id) end
if request ~= '' then call('HSET', REQUESTS, request, id) end
return {'granted', id, p.doc, now + ttl, ttl, fence, rebound, target}
