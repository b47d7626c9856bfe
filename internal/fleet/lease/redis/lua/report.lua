-- report: id, whether the result is bad, target
local now, id, target = clock(), ARGV[2], ARGV[4]
if not expire(now) then return {'more'} end
local l = lease(id)
if not l then return {'unknown'} end
local uid = l[UID]
local p = ARGV[3] == '1' and proxy(uid)
if not p or p.addr ~= l[ADDRESS] then return {'reported'} end
if target == '' then target = l[TARGET] end

local COOLING = K .. ':cooling:'
local function length(times) return math.min(WINDOW * 2 ^ (times - 1), @MAX@) end

local function cooldown(of)
  local packed = call('HGET', COOLING .. of, target)
  if not packed then return 0, 0 end
  return unpack(cmsgpack.unpack(packed))
end

local function cool(of, m, till, times)
  call('HSET', COOLING .. of, target, cmsgpack.pack({till, times}))
  call('ZADD', RESTING .. target, text(till), m)
  call('ZADD', DUE, text(till + length(times) + 1), '~' .. of .. '\0' .. target)
end

-- make_room drops the cooldown that ends, or ended, first.
local function make_room()
  local cooling, first, ends = call('HGETALL', COOLING .. uid), nil, nil
  for i = 1, #cooling, 2 do
    local till = cmsgpack.unpack(cooling[i + 1])[1]
    if not ends or till < ends or till == ends and cooling[i] < first then first, ends = cooling[i], till end
  end
  call('HDEL', COOLING .. uid, first)
  call('ZREM', RESTING .. first, p.m)
  call('ZREM', DUE, '~' .. uid .. '\0' .. first)
end

-- spare lets members of the lease's pool out of their rest, those that end first, until at
-- most three quarters rest for the target; the one that was reported about goes on.
local function spare()
  local n = call('HGET', META, 'pool:' .. l[SELECTOR]) or new_pool(l[SELECTOR], now)
  local size = n and call('ZCARD', ALL .. n) or 0
  if size < 8 or 4 * call('ZCARD', RESTING .. target) <= 3 * size then return end
  local all, resting = call('ZINTER', 2, RESTING .. target, ALL .. n, 'WEIGHTS', 1, 0, 'WITHSCORES'), {}
  for i = 1, #all, 2 do
    if tonumber(all[i + 1]) > now then resting[#resting + 1] = all[i] end
  end
  local left = #resting
  for _, m in ipairs(resting) do
    if 4 * left <= 3 * size then return end
    if m ~= p.m then
      local of = uid_of(m)
      local _, times = cooldown(of)
      cool(of, m, now, times)
      left = left - 1
    end
  end
end

local till, times = cooldown(uid)
if times == 0 and call('HLEN', COOLING .. uid) >= @TARGETS@ then make_room() end
if times == 0 or now - till > length(times) then
  times = 1
elseif now - (till - length(times)) > @BURST@ then
  times = times + 1
end
till = math.max(till, now + length(times))
cool(uid, p.m, till, times)
if target == '' and till > (tonumber(call('HGET', META, 'rest')) or 0) then call('HSET', META, 'rest', text(till)) end
spare()
return {'reported'}
