-- renew: id, ttl
local now, id, ttl = clock(), ARGV[2], tonumber(ARGV[3])
if not expire(now) then return {'more'} end
local l = lease(id)
if not l then return {'unknown'} end
local p = proxy(l[UID])
if not p or p.gen ~= l[GEN] then return {'gone'} end
if not call('ZSCORE', p.held, id) then return {'unknown'} end
call('ZADD', p.held, now + ttl, id)
call('ZADD', DUE, now + ttl, id)
if l[TTL] ~= ttl then
  l[TTL] = ttl
  call('HSET', LEASES, id, cmsgpack.pack(l))
end
local held = call('ZCARD', p.held)
if p.ok and p.cap > 0 and held >= p.cap then refile(p, held, held) end
return granted(id, l, p)
