package health

import (
	"bytes"
	"container/heap"
	"hash/fnv"
	"net/netip"
	"time"
)

// Set tells of a proxy, new or changed. With the same values it changes nothing.
func (e *Engine) Set(p Proxy, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.states[p.Key]
	if old != nil && old.proxy.UID == p.UID && old.proxy.Instance == p.Instance {
		e.update(old, p, now)
		return
	}
	s := &state{proxy: p, place: -1}
	if old != nil {
		e.drop(old, now)
		s.moved = old.proxy.UID == p.UID
	}
	if !s.moved { // else the status may still say what was found of the other endpoint
		s.record.seed(p.Known, now)
	}
	s.next = e.first(s, now)
	e.states[p.Key] = s
	e.weather.enter(s)
	heap.Push(&e.due, s)
	e.nudge()
}

// update goes on with a proxy that is still the same. Another check begins to count anew,
// from the verdict that there is; how the proxy is reached and logged into holds from the
// next probe on, which does not wait if there is hope.
func (e *Engine) update(s *state, p Proxy, now time.Time) {
	check, access := !s.proxy.Check.equal(p.Check), !s.proxy.accessed(&p)
	if s.proxy.Check.VerifyEgress != p.Check.VerifyEgress {
		s.forgetEgress()
	} else if !p.Egress.IsValid() {
		p.Egress = s.proxy.Egress // as this engine has found, which the status does not say yet
	}
	s.proxy = p
	if !check && !access {
		return
	}
	s.version++
	if check {
		e.weather.leave(s)
		s.record.again()
		e.weather.enter(s)
	}
	if s.place < 0 {
		return
	}
	next := s.aligned(now)
	if !s.record.good() || s.record.failed > 0 {
		next = e.soon(s, now)
	}
	if check || next.Before(s.next) {
		s.next = next
		heap.Fix(&e.due, s.place)
		e.nudge()
	}
}

// forgetEgress lets go of the address that was verified: whoever turns that off and on
// again finds another one right.
func (s *state) forgetEgress() {
	s.record.egress = netip.Addr{}
	if s.snapshot != nil {
		told := *s.snapshot
		told.EgressIP = ""
		s.snapshot = &told
	}
}

// accessed says whether a and b are reached and logged into in the same way.
func (p *Proxy) accessed(b *Proxy) bool {
	return p.login(time.Time{}) == b.login(time.Time{}) && p.TLS.ServerName == b.TLS.ServerName &&
		p.TLS.InsecureSkipVerify == b.TLS.InsecureSkipVerify && (p.TLS.CA == nil) == (b.TLS.CA == nil) && bytes.Equal(p.TLS.CA, b.TLS.CA)
}

// Remove tells that a proxy is not to be probed any more. What a probe of it that is under
// way finds does not count.
func (e *Engine) Remove(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.states[key]; s != nil {
		e.drop(s, time.Now())
		e.options.Metrics.Forget(key)
	}
}

func (e *Engine) drop(s *state, now time.Time) {
	e.weather.leave(s)
	e.weather.rise(s)
	s.gone = true
	if s.place >= 0 {
		heap.Remove(&e.due, s.place)
	}
	delete(e.states, s.proxy.Key)
	e.hold(now)
}

// firstRate is how many probes a second may begin of those that should not wait.
const firstRate = 500

// first is when a proxy is probed first: one with a verdict at its place in the interval,
// which is the same after a restart; one without does not wait so long.
func (e *Engine) first(s *state, now time.Time) time.Time {
	if s.record.verdict != nil {
		return s.aligned(now)
	}
	return e.soon(s, now)
}

// soon is the next time at which a probe may begin that should not wait for its place in
// the interval: at once for a few; for thousands at once firstRate a second, and each at
// its place in the interval at the latest.
func (e *Engine) soon(s *state, now time.Time) time.Time {
	at := e.soonest
	if at.Before(now) {
		at = now
	}
	if place := s.aligned(now); place.Before(at) {
		return place
	}
	e.soonest = at.Add(time.Second / firstRate)
	return at
}

// aligned is the first time after t that is the proxy's place in its interval: a hash of
// its UID spreads a fleet evenly, and in the same way in each process.
func (s *state) aligned(t time.Time) time.Time {
	interval := max(s.proxy.Check.Interval, minInterval)
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.proxy.UID))
	place := time.Duration(h.Sum64() % uint64(interval)) //nolint:gosec // it is positive
	return t.Add(interval - (time.Duration(t.UnixNano())+interval-place)%interval)
}

// egress is the address that is verified, the zero address before it is known.
func (s *state) egress() (known netip.Addr) {
	if s.proxy.Check.VerifyEgress {
		known = s.proxy.Egress
	}
	return known
}
