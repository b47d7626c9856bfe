-- renew: id, ttl
local now, id, ttl = clock(), ARGV[2], tonumber(ARGV[3])
if not expire(now) then return {'more'} end
local l = lease(id)
if not l then return {'unknown'} end
local uid = l[UID]
local p = proxy(uid)
if not p or p.era ~= l[ERA] then return {'gone'} end
if not call('ZSCORE', HELD .. uid, id) then return {'unknown'} end
call('ZADD', HELD .. uid, text(now + ttl), id)
call('ZADD', DUE, text(now + ttl), id)
if l[TTL] ~= ttl then
  l[TTL] = ttl
  call('HSET', LEASES, id, cmsgpack.pack(l))
end
local held = call('ZCARD', HELD .. uid)
if p.cap > 0 and held >= p.cap then refile(uid, p, held, held) end
local rest = math.max(tonumber(call('ZSCORE', RESTING .. l[TARGET], p.m) or 0), tonumber(call('ZSCORE', RESTING, p.m) or 0))
local out = granted(id, l)
out[9] = rest > now and rest or 0
return out
