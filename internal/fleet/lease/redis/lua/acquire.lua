-- acquire: id, again, ttl, target, selector, touch, session, request, digest, policy, excluded "namespace NUL name NUL"…
local now, id, ttl, target, selector = clock(), ARGV[2], tonumber(ARGV[4]), ARGV[5], ARGV[6]
local session, request, digest = ARGV[8], ARGV[9], ARGV[10]
if not expire(now) then return {'more'} end

if ARGV[3] == '1' and call('HEXISTS', LEASES, id) == 1 then return granted(id, lease(id)) end
if request ~= '' then
  local had = call('HGET', REQUESTS, request)
  if had then
    local l = lease(had)
    if l and l[DIGEST] ~= digest then return {'reused'} end
    return granted(had, l)
  end
end

-- limited is how many proxies have a limit per target, rest until when the last of those
-- rests that rest for every target.
local n, fence, limited, rest = unpack(call('HMGET', META, 'pool:' .. selector, 'fence', 'limited', 'rest'))
if not n then
  n = new_pool(selector, now)
  if not n then return {'none', 0, 0, 0, 0, 0} end
elseif ARGV[7] == '1' then
  call('ZADD', USED, text(now), n)
end
local open = OPEN .. n
limited, rest = tonumber(limited or 0) > 0, rest and tonumber(rest) > now

local excluded
for i = 12, #ARGV do
  excluded = excluded or {}
  excluded[ARGV[i]] = true
end

-- Why members that could take a lease for something cannot for this target.
local no = {full = 0, cooling = 0, excluded = 0, wait = nil}
local function wait(till)
  if till and till > now and (not no.wait or till - now < no.wait) then no.wait = till - now end
end

local function full(uid)
  local per = proxy(uid).per
  return per > 0 and (tonumber(call('HGET', ON .. uid, target)) or 0) >= per
end

-- suits returns the first of some members that suits, and counts those that do not.
local function suits(ms)
  local rests = call('ZMSCORE', RESTING .. target, unpack(ms))
  local every = rest and call('ZMSCORE', RESTING, unpack(ms)) or {}
  for i, m in ipairs(ms) do
    local till, uid = tonumber(rests[i] or 0), uid_of(m)
    if every[i] then till = math.max(till, tonumber(every[i])) end
    if excluded and excluded[name_of(m)] then
      no.excluded = no.excluded + 1
    elseif limited and full(uid) then
      no.full = no.full + 1
      wait(first_end(uid))
    elseif till > now then
      no.cooling = no.cooling + 1
      wait(till)
    else
      return uid
    end
  end
end

-- fittest walks the pool in pieces that grow.
local function fittest()
  local at, size = 0, 2
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
  local uid = p and p.era == l[ERA] and call('ZSCORE', open, p.m) and suits({p.m})
  no.full, no.cooling, no.excluded = 0, 0, 0
  return uid, true
end

-- refusal counts who does not suit, and finds when the first of them may. What is
-- excluded was not asked for.
local function refusal()
  local considered, at_capacity = call('ZCARD', ALL .. n), call('ZCARD', FULL .. n)
  local unhealthy, skip = considered - at_capacity - call('ZCARD', open), {}
  considered = considered - no.excluded
  for name in pairs(excluded or {}) do
    for _, m in ipairs(call('ZRANGE', ALL .. n, '[' .. name, '(' .. string.sub(name, 1, -2) .. '\1', 'BYLEX')) do
      if call('ZSCORE', FULL .. n, m) then
        skip[m], considered, at_capacity = true, considered - 1, at_capacity - 1
      elseif not call('ZSCORE', open, m) then
        considered, unhealthy = considered - 1, unhealthy - 1
      end
    end
  end
  local ends = call('ZRANGE', FULL .. n, 0, #ARGV - 11, 'WITHSCORES')
  for i = 1, #ends, 2 do
    if not skip[ends[i]] then
      wait(tonumber(ends[i + 1]))
      break
    end
  end
  return {'none', considered, unhealthy, at_capacity + no.full, no.cooling, no.wait or 0}
end

local uid, had
if session ~= '' then uid, had = bound() end
local rebound = had and not uid and 1 or 0
uid = uid or fittest()
if not uid then return refusal() end

local p, doc = proxy(uid), call('HGET', K .. ':docs', uid)
fence = math.max(now, (tonumber(fence) or 0) + 1)
local l = {uid, p.era, p.addr, target, ttl, fence, selector, session ~= '' and session, request ~= '' and request, digest, rebound, false}
-- Another try of this very call may have come first.
if call('HSETNX', LEASES, id, cmsgpack.pack(l)) == 0 then return granted(id, lease(id)) end
local till = text(now + ttl)
call('HSET', META, 'fence', text(fence))
call('ZADD', HELD .. uid, till, id)
call('ZADD', DUE, till, id)
local held = call('ZCARD', HELD .. uid)
refile(uid, p, held - 1, held)
if p.per > 0 then call('HINCRBY', ON .. uid, target, 1) end
if session ~= '' then call('HSET', SESSIONS, session, id) end
if request ~= '' then call('HSET', REQUESTS, request, id) end
return {'granted', id, doc, now + ttl, ttl, fence, rebound, target}
