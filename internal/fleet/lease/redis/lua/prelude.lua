-- Stands before every script. docs: doc.go, "What is kept".
-- Times are microseconds since 1970. A member is "namespace NUL name NUL uid", so that
-- equal scores are in the order of leases. A script answers with a table whose first
-- element says what it is.
local call, K = redis.call, KEYS[1]
local META, DUE, LEASES, REST = K .. ':meta', K .. ':due', K .. ':leases', K .. ':rest'
local REQUESTS, SESSIONS, SELECTORS = K .. ':requests', K .. ':sessions', K .. ':selectors'
local WINDOW, SCALE, BATCH = @WINDOW@, 4294967296, 256
-- Elements of a lease's record. DOC is the proxy as it was granted, once that has changed.
local UID, GEN, ADDRESS, TARGET, TTL, FENCE, SELECTOR, SESSION, REQUEST, DIGEST, REBOUND, DOC = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12

-- clock is the server's, or the one that a test has.
local function clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local t = call('TIME')
  return t[1] * 1000000 + t[2]
end

-- uid_of is the third part of a member, name_of the two before it.
local function uid_of(m) return string.match(m, '^[^%z]*%z[^%z]*%z(.*)$') end
local function name_of(m) return string.match(m, '^[^%z]*%z[^%z]*%z') end

local function proxy(uid)
  local f = call('HMGET', K .. ':p:' .. uid, 'gen', 'm', 'ok', 'cap', 'lat', 'pools', 'per', 'addr', 'doc')
  if not f[1] then return nil end
  return {
    uid = uid, gen = f[1], m = f[2], ok = f[3] == '1', cap = tonumber(f[4]), lat = tonumber(f[5]),
    pools = f[6], per = tonumber(f[7]), addr = f[8], doc = f[9], held = K .. ':held:' .. uid,
  }
end

local function lease(id)
  local packed = call('HGET', LEASES, id)
  return packed and cmsgpack.unpack(packed)
end

-- first_end is when the first of a proxy's leases ends.
local function first_end(p)
  local first = call('ZRANGE', p.held, 0, 0, 'WITHSCORES')
  return tonumber(first[2])
end

-- refile moves a proxy that took or lost a lease within its pools: `open` has those that
-- can take one more, by leases and latency, `full` those that cannot, by the end of
-- their first lease, and REST how many leases those have that are not open.
local function refile(p, from, to)
  if not p.ok then
    call('ZADD', REST, to, p.m)
    return
  end
  local was, is = p.cap == 0 or from < p.cap, p.cap == 0 or to < p.cap
  local score = is and to * SCALE + p.lat or first_end(p)
  local enter, leave = is and ':open:' or ':full:', is and ':full:' or ':open:'
  if was ~= is then call('ZREM', K .. leave .. '0', p.m) end
  call('ZADD', K .. enter .. '0', score, p.m)
  for n in string.gmatch(p.pools, '%d+') do
    if was ~= is then call('ZREM', K .. leave .. n, p.m) end
    call('ZADD', K .. enter .. n, score, p.m)
  end
  if not is then
    call('ZADD', REST, to, p.m)
  elseif not was then
    call('ZREM', REST, p.m)
  end
end

-- finish ends a lease, which its proxy holds, at a time; it can still be reported about.
local function finish(id, l, p, at)
  call('ZREM', p.held, id)
  call('ZADD', DUE, at + WINDOW, id)
  if l[REQUEST] and call('HGET', REQUESTS, l[REQUEST]) == id then call('HDEL', REQUESTS, l[REQUEST]) end
  if p.per > 0 and call('HINCRBY', K .. ':on:' .. p.uid, l[TARGET], -1) <= 0 then
    call('HDEL', K .. ':on:' .. p.uid, l[TARGET])
  end
  local n = call('ZCARD', p.held)
  refile(p, n + 1, n)
end

-- holder is the proxy of a lease that is active.
local function holder(id, l)
  local p = proxy(l[UID])
  return p and p.gen == l[GEN] and call('ZSCORE', p.held, id) and p
end

-- forget drops a lease that can no longer be reported about.
local function forget(id, l)
  call('ZREM', DUE, id)
  call('HDEL', LEASES, id)
  if l and l[SESSION] and call('HGET', SESSIONS, l[SESSION]) == id then call('HDEL', SESSIONS, l[SESSION]) end
end

local function forget_cooldown(due)
  local uid, target = string.match(due, '^~([^%z]*)%z(.*)$')
  local p = proxy(uid)
  call('ZREM', DUE, due)
  call('HDEL', K .. ':cooling:' .. uid, target)
  if p then call('ZREM', K .. ':resting:' .. target, p.m) end
end

-- granted is the answer that says what a lease is.
local function granted(id, l, p)
  return {'granted', id, l[DOC] or p.doc, tonumber(call('ZSCORE', p.held, id)), l[TTL], l[FENCE], l[REBOUND], l[TARGET]}
end

-- expire ends what has ended by now, and says whether that was all: a script that is told
-- "no" does nothing else, and is called again.
local function expire(now)
  local due = call('ZRANGE', DUE, '-inf', now, 'BYSCORE', 'LIMIT', 0, BATCH, 'WITHSCORES')
  for i = 1, #due, 2 do
    local id, at = due[i], tonumber(due[i + 1])
    if string.byte(id) == 126 then
      forget_cooldown(id)
    else
      local l = lease(id)
      local p = l and holder(id, l)
      if p then finish(id, l, p, at) end
      if not p or at + WINDOW <= now then forget(id, l) end
    end
  end
  return #due < 2 * BATCH
end
