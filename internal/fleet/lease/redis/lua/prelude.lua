-- Stands before every script. What is kept: redis.go.
-- Times are microseconds since 1970. A member is "namespace NUL name NUL uid", so that
-- equal scores are in the order of leases. A script answers with a table whose first
-- element says what it is.
local call, K, format = redis.call, KEYS[1], string.format
local META, DUE, LEASES, PROXIES = K .. ':meta', K .. ':due', K .. ':leases', K .. ':proxies'
local REQUESTS, SESSIONS, ENDED = K .. ':requests', K .. ':sessions', K .. ':ended'
local OPEN, FULL, HELD, ON, RESTING = K .. ':open:', K .. ':full:', K .. ':held:', K .. ':on:', K .. ':resting:'
local WINDOW, SCALE, BATCH = @WINDOW@, 4294967296, 256
-- Elements of a lease's record. DOC is the proxy as it was granted, once that has changed.
local UID, ERA, ADDRESS, TARGET, TTL, FENCE, SELECTOR, SESSION, REQUEST, DIGEST, REBOUND, DOC = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12

-- text is a whole number as an argument of a call, which would take longer over it.
local function text(n) return format('%d', n) end

-- clock is the server's, or the one that a test has.
local function clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local t = call('TIME')
  return t[1] * 1000000 + t[2]
end

-- proxy is what is known of one: era, which is another with each instance, member m, ok,
-- capacity cap and per, for one target, latency lat, address addr, and its pools.
local function proxy(uid)
  local packed = call('HGET', PROXIES, uid)
  return packed and cmsgpack.unpack(packed)
end

local function lease(id)
  local packed = call('HGET', LEASES, id)
  return packed and cmsgpack.unpack(packed)
end

-- first_end is when the first of a proxy's leases ends.
local function first_end(uid) return tonumber(call('ZRANGE', HELD .. uid, 0, 0, 'WITHSCORES')[2]) end

-- refile moves a proxy that took or lost a lease within its pools: those that can take
-- one more are in the open ones, by leases and latency, those that cannot in the full
-- ones, by the end of their first lease.
local function refile(uid, p, from, to)
  if not p.ok then return end
  local was, is = p.cap == 0 or from < p.cap, p.cap == 0 or to < p.cap
  local score = text(is and to * SCALE + p.lat or first_end(uid))
  local enter, leave = is and OPEN or FULL, is and FULL or OPEN
  for _, n in ipairs(p.pools) do
    if was ~= is then call('ZREM', leave .. n, p.m) end
    call('ZADD', enter .. n, score, p.m)
  end
end

-- forget drops the lease that ended first. A server that evicts may have lost it.
local function forget()
  local id = call('LPOP', ENDED, 2)[2]
  local l = lease(id)
  if l and l[SESSION] and call('HGET', SESSIONS, l[SESSION]) == id then call('HDEL', SESSIONS, l[SESSION]) end
  call('HDEL', LEASES, id)
end

-- finish ends a lease at a time, unless it has ended; it can still be reported about.
local function finish(id, l, at)
  local uid = l[UID]
  if call('ZREM', HELD .. uid, id) == 0 then return false end
  call('ZREM', DUE, id)
  if call('RPUSH', ENDED, text(at + WINDOW), id) > 2 * @ENDED@ then forget() end
  if l[REQUEST] and call('HGET', REQUESTS, l[REQUEST]) == id then call('HDEL', REQUESTS, l[REQUEST]) end
  local p = proxy(uid)
  if not p then return true end
  if p.per > 0 and call('HINCRBY', ON .. uid, l[TARGET], -1) <= 0 then call('HDEL', ON .. uid, l[TARGET]) end
  local n = call('ZCARD', HELD .. uid)
  refile(uid, p, n + 1, n)
  return true
end

-- granted is the answer that says what a lease is, if it is active.
local function granted(id, l)
  local till = l and call('ZSCORE', HELD .. l[UID], id)
  if not till then return {'lost'} end
  return {'granted', id, l[DOC] or call('HGET', K .. ':docs', l[UID]), tonumber(till), l[TTL], l[FENCE], l[REBOUND], l[TARGET]}
end

-- expire ends what has ended by now, and says whether that was all: a script that is told
-- "no" does nothing else, and is called again.
local function expire(now)
  local left = BATCH
  if call('ZCOUNT', DUE, '-inf', text(now)) > 0 then
    for _, due in ipairs(call('ZRANGE', DUE, '-inf', text(now), 'BYSCORE', 'LIMIT', 0, BATCH)) do
      local uid, target = string.match(due, '^~([^%z]*)%z(.*)$')
      if uid then -- a cooldown that no longer counts
        local p = proxy(uid)
        call('HDEL', K .. ':cooling:' .. uid, target)
        if p then call('ZREM', RESTING .. target, p.m) end
        call('ZREM', DUE, due)
      else
        local l = lease(due)
        if not l or not finish(due, l, tonumber(call('ZSCORE', DUE, due))) then call('ZREM', DUE, due) end
      end
      left = left - 1
    end
  end
  local till = call('LINDEX', ENDED, 0)
  while till and tonumber(till) <= now and left > 0 do -- leases that can no longer be reported about
    forget()
    till, left = call('LINDEX', ENDED, 0), left - 1
  end
  return left > 0
end
