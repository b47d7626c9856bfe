-- set: uid, member, namespace, instance, address, latency, healthy, capacity, per target, attributes, doc, teller
local now, uid, doc, teller = clock(), ARGV[2], ARGV[12], ARGV[13]
if not expire(now) then return {'more'} end
local had = call('HGET', K .. ':docs', uid)
if had == doc then return tell(teller, false) end

local was = had and proxy(uid)
local p = {
  m = ARGV[3], ns = ARGV[4], inst = ARGV[5], addr = ARGV[6], lat = tonumber(ARGV[7]), ok = ARGV[8] == '1',
  cap = tonumber(ARGV[9]), per = tonumber(ARGV[10]), attrs = ARGV[11],
}
if was then
  take(was)
  limit(was.per, -1)
  enlist(was, 'SREM')
  if was.inst == p.inst then
    p.era = was.era
    keep(uid, had)
  else
    end_all(uid, now)
  end
  if was.addr ~= p.addr then
    end_cooldowns(uid, was)
  elseif was.m ~= p.m then
    move_cooldowns(uid, was.m, p.m)
  end
end
p.era = p.era or call('HINCRBY', META, 'eras', 1)
p.pools = pools_of(p)
enlist(p, 'SADD')
limit(p.per, 1)
call('DEL', ON .. uid)
local held = call('ZRANGE', HELD .. uid, 0, -1)
for i = 1, p.per > 0 and #held or 0 do call('HINCRBY', ON .. uid, lease(held[i])[TARGET], 1) end
call('HSET', PROXIES, uid, cmsgpack.pack(p))
call('HSET', K .. ':docs', uid, doc)
add(uid, p, p.pools, #held)
return tell(teller, true)
