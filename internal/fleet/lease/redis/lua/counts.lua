-- counts: the members that carry leases, each with their number
local now = clock()
if not expire(now) then return {'more'} end
local out = {'counts'}
local open = call('ZRANGE', K .. ':open:0', SCALE, '+inf', 'BYSCORE', 'WITHSCORES')
for i = 1, #open, 2 do
  out[i + 1], out[i + 2] = open[i], math.floor(tonumber(open[i + 1]) / SCALE)
end
for _, v in ipairs(call('ZRANGE', REST, 1, '+inf', 'BYSCORE', 'WITHSCORES')) do
  out[#out + 1] = tonumber(v) or v
end
return out
