package leasetest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// model is a store as one would say it in words: it scans everything, every time.
type model struct {
	now     time.Time
	windows lease.Windows
	proxies map[string]lease.Proxy
	leases  []*entry // in order of being granted
	rests   map[pair]rest
}

// pair is a proxy's UID and a target.
type pair struct{ uid, target string }

// rest is a cooldown, and which in a row it is.
type rest struct {
	until time.Time
	times int
}

// entry is a lease as the store granted it, with the end that it has now.
type entry struct {
	lease.Lease
	request lease.Request
	gone    bool
}

func newModel(w lease.Windows) *model {
	return &model{windows: w, proxies: map[string]lease.Proxy{}, rests: map[pair]rest{}}
}

func (m *model) active(l *entry) bool { return m.now.Before(l.ExpiresAt) }

// known says whether a lease can be reported about.
func (m *model) known(l *entry) bool { return m.now.Before(l.ExpiresAt.Add(m.windows.Cooldown)) }

// end ends a lease, unless it has.
func (m *model) end(l *entry) {
	if m.active(l) {
		l.ExpiresAt = m.now
	}
}

func (m *model) set(p lease.Proxy) {
	before, ok := m.proxies[p.UID]
	if ok && before.Instance != p.Instance {
		m.lose(p.UID)
	}
	if before.Address != p.Address {
		m.forget(p.UID)
	}
	m.proxies[p.UID] = p
}

func (m *model) remove(uid string) {
	m.lose(uid)
	m.forget(uid)
	delete(m.proxies, uid)
}

func (m *model) lose(uid string) {
	for _, l := range m.leases {
		if l.Proxy.UID == uid {
			m.end(l)
			l.gone = true
		}
	}
}

func (m *model) forget(uid string) {
	maps.DeleteFunc(m.rests, func(p pair, _ rest) bool { return p.uid == uid })
}

// load counts leases of a proxy, all or those for one target.
func (m *model) load(uid string, target *string) (n int) {
	for _, l := range m.leases {
		if l.Proxy.UID == uid && m.active(l) && (target == nil || l.Target == *target) {
			n++
		}
	}
	return n
}

func (m *model) resting(p pair) bool { return m.now.Before(m.rests[p].until) }

// fits counts a proxy in a refusal, and says whether it need not be.
func (m *model) fits(p lease.Proxy, target string, e *lease.NoMatchError) bool {
	e.Considered++
	switch {
	case !p.Healthy:
		e.Unhealthy++
	case p.Capacity > 0 && m.load(p.UID, nil) >= p.Capacity, p.PerTarget > 0 && m.load(p.UID, &target) >= p.PerTarget:
		e.AtCapacity++
	case m.resting(pair{p.UID, target}), m.resting(pair{p.UID, ""}):
		e.InCooldown++
	default:
		return true
	}
	return false
}

// fit are the proxies that could be granted, the fittest first.
func (m *model) fit(r lease.Request) (fit []lease.Proxy, e *lease.NoMatchError) {
	e = &lease.NoMatchError{}
	for _, p := range m.proxies {
		excluded := slices.Contains(r.Exclude, p.Namespace+"/"+p.Name)
		if r.Selector.Matches(&p) && !excluded && m.fits(p, r.Target, e) {
			fit = append(fit, p)
		}
	}
	slices.SortFunc(fit, func(a, b lease.Proxy) int {
		return cmp.Or(m.load(a.UID, nil)-m.load(b.UID, nil), cmp.Compare(a.LatencyMillis, b.LatencyMillis),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return fit, e
}

// acquire returns who is to be granted, or why nobody.
func (m *model) acquire(r lease.Request) (uid string, rebound bool, refusal *lease.NoMatchError) {
	fit, refusal := m.fit(r)
	if len(fit) == 0 {
		return "", false, refusal
	}
	had := m.had(r)
	if had != nil && !had.gone && slices.ContainsFunc(fit, func(p lease.Proxy) bool { return p.UID == had.Proxy.UID }) {
		return had.Proxy.UID, false, nil
	}
	return fit[0].UID, had != nil, nil
}

// had is the last lease of the request's session, while that can be reported about.
func (m *model) had(r lease.Request) (last *entry) {
	for _, l := range m.leases {
		if r.Session != "" && l.request.Session == r.Session && equal(l.request.Selector, r.Selector) {
			last = l
		}
	}
	if last == nil || !m.known(last) {
		return nil
	}
	return last
}

func equal(a, b lease.Selector) bool {
	return a.Namespace == b.Namespace && maps.Equal(a.Attributes, b.Attributes)
}

// kept is the lease that the key of a request has.
func (m *model) kept(r lease.Request) *entry {
	for _, l := range m.leases {
		if r.Key != "" && l.request.Key == r.Key && m.active(l) {
			return l
		}
	}
	return nil
}

// banned begins the rest of a proxy.
func (m *model) banned(l *entry, target string) {
	p, ok := m.proxies[l.Proxy.UID]
	if !ok || p.Address != l.Proxy.Address {
		return
	}
	key := pair{p.UID, cmp.Or(target, l.Target)}
	m.rests[key] = m.rests[key].after(m.now, m.windows)
	m.spare(key, l.request.Selector)
}

// spare ends rests for a target, those that end first, until at most three quarters of
// the proxies that a selector matches have one. Fewer than eight are not spared.
func (m *model) spare(just pair, sel lease.Selector) {
	var n int
	var resting []lease.Proxy
	for _, p := range m.proxies {
		if !sel.Matches(&p) {
			continue
		}
		if n++; m.resting(pair{p.UID, just.target}) {
			resting = append(resting, p)
		}
	}
	until := func(p lease.Proxy) time.Time { return m.rests[pair{p.UID, just.target}].until }
	slices.SortFunc(resting, func(a, b lease.Proxy) int {
		return cmp.Or(until(a).Compare(until(b)), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	resting = slices.DeleteFunc(resting, func(p lease.Proxy) bool { return p.UID == just.uid })
	for left := len(resting) + 1; n >= 8 && 4*left > 3*n && len(resting) > 0; left-- {
		key := pair{resting[0].UID, just.target}
		m.rests[key] = rest{m.now, m.rests[key].times}
		resting = resting[1:]
	}
}

// suitsFrom is the first time at which the request is granted if nobody does anything,
// zero if there is none.
func (m *model) suitsFrom(r lease.Request) time.Time {
	var times []time.Time
	for _, l := range m.leases {
		times = append(times, l.ExpiresAt)
	}
	for _, r := range m.rests {
		times = append(times, r.until)
	}
	slices.SortFunc(times, time.Time.Compare)
	now := m.now
	defer func() { m.now = now }()
	for _, m.now = range times {
		if fit, _ := m.fit(r); m.now.After(now) && len(fit) > 0 {
			return m.now
		}
	}
	return time.Time{}
}

// after is the rest that a report begins: twice as long as the one before it if that
// ended less than its own length ago.
func (r rest) after(now time.Time, w lease.Windows) rest {
	long := func(times int) time.Duration { return min(w.Cooldown<<(min(times, 20)-1), w.Max) }
	switch {
	case r.times == 0 || now.Sub(r.until) > long(r.times):
		r.times = 1
	case now.Sub(r.until.Add(-long(r.times))) > w.Burst:
		r.times++
	}
	if until := now.Add(long(r.times)); until.After(r.until) {
		r.until = until
	}
	return r
}
