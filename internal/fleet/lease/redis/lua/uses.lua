-- uses: whether cooldowns are asked for, a cursor, uid: how one proxy is used, or a part of
-- all. The answer has the cursor to the next part, and of each proxy "uid, leases, number
-- of cooldowns, target, until, target, until…".
local now, uids, out = clock(), {ARGV[4]}, {'uses', '0'}
if not expire(now) then return {'more'} end
if not ARGV[4] then
  local part = call('SSCAN', K .. ':members', ARGV[3], 'COUNT', 1000)
  out[2] = part[1]
  for i, m in ipairs(part[2]) do uids[i] = string.match(m, '^[^%z]*%z[^%z]*%z(.*)$') end
end
local function cooldowns(uid)
  local cooling, at, count = call('HGETALL', K .. ':cooling:' .. uid), #out, 0
  for i = 1, #cooling, 2 do
    local till = cmsgpack.unpack(cooling[i + 1])[1]
    if till > now then
      count = count + 1
      out[at + 2 * count], out[at + 2 * count + 1] = cooling[i], till
    end
  end
  out[at + 1] = count
end
for _, uid in ipairs(uids) do
  out[#out + 1] = uid
  out[#out + 1] = call('ZCARD', HELD .. uid)
  if ARGV[2] == '1' then cooldowns(uid) else out[#out + 1] = 0 end
end
return out
