-- remove: uid, teller
local now, uid, teller = clock(), ARGV[2], ARGV[3]
if not expire(now) then return {'more'} end
local p = proxy(uid)
if not p then return tell(teller, false) end
end_all(uid, now)
end_cooldowns(uid, p)
take(p)
enlist(p, 'SREM')
limit(p.per, -1)
call('HDEL', PROXIES, uid)
call('HDEL', K .. ':docs', uid)
return tell(teller, true)
