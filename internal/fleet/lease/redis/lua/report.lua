-- report: id, whether the result is bad, target
local now, id, bad, target = clock(), ARGV[2], ARGV[3] == '1', ARGV[4]
if not expire(now) then return {'more'} end
local l = lease(id)
if not l then return {'unknown'} end
if not bad then return {'reported'} end
if target == '' then target = l[TARGET] end
local p = proxy(l[UID])
if not p or p.addr ~= l[ADDRESS] then return {'reported'} end

local function length(times) return math.min(WINDOW * 2 ^ (times - 1), @MAX@) end

local key = K .. ':cooling:' .. p.uid
local packed = call('HGET', key, target)
local till, times = 0, 0
if packed then till, times = unpack(cmsgpack.unpack(packed)) end
if times == 0 or now - till > length(times) then
  times = 1
elseif now - (till - length(times)) > @BURST@ then
  times = times + 1
end
till = math.max(till, now + length(times))
call('HSET', key, target, cmsgpack.pack({till, times}))
call('ZADD', K .. ':resting:' .. target, till, p.m)
call('ZADD', DUE, till + length(times) + 1, '~' .. p.uid .. '\0' .. target)
return {'reported'}
