-- release: id
local now, id = clock(), ARGV[2]
if not expire(now) then return {'more'} end
local l = lease(id)
local p = l and holder(id, l)
if p then finish(id, l, p, now) end
return {'released'}
