-- remove: uid, teller
local now, uid, teller = clock(), ARGV[2], ARGV[3]
if not expire(now) then return {'more'} end
local p = proxy(uid)
if not p then return tell(teller, false) end
local key = K .. ':p:' .. uid
local ns, attrs = unpack(call('HMGET', key, 'ns', 'attrs'))
end_all(p, now)
end_cooldowns(p)
close(p)
part(p, ns, attrs)
limit(p.per, -1)
call('DEL', key)
return tell(teller, true)
