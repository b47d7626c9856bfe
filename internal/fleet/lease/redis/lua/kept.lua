-- kept: request, digest
local now, request = clock(), ARGV[2]
if not expire(now) then return {'more'} end
local had = call('HGET', REQUESTS, request)
if not had then return {'none'} end
local l = lease(had)
if l[DIGEST] ~= ARGV[3] then return {'reused'} end
return granted(had, l)
