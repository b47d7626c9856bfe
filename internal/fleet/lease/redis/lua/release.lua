-- release: id
local now, id = clock(), ARGV[2]
if not expire(now) then return {'more'} end
local l = lease(id)
if l then finish(id, l, now) end
return {'released'}
