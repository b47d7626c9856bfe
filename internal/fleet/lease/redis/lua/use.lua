-- use: uid
local now, uid = clock(), ARGV[2]
if not expire(now) then return {'more'} end
local out = {'use', call('ZCARD', K .. ':held:' .. uid)}
local cooling = call('HGETALL', K .. ':cooling:' .. uid)
for i = 1, #cooling, 2 do
  local till = cmsgpack.unpack(cooling[i + 1])[1]
  if till > now then
    out[#out + 1] = cooling[i]
    out[#out + 1] = till
  end
end
return out
