package xdsserve

import (
	"cmp"
	"slices"
	"time"
)

// Belief is what one proxy has acknowledged and refused.
type Belief struct {
	Proxy string
	Group string
	Since time.Time // connected since
	// Seq is the highest sequence number of Publish whose resources this proxy has all answered.
	Seq uint64
	// Behind counts resources sent or waiting that it has not answered yet.
	Behind  int
	Refused []Refusal
}

// Refusal is one resource that a proxy refused and that is still wanted. The
// proxy keeps the version that it had before, if any.
type Refusal struct {
	Proxy string
	Name
	Version string
	Message string // the proxy's words
	Origins []string
	At      time.Time
}

// Ledger returns what every connected proxy of a group believes now, by proxy.
func (s *Server) Ledger(group string) []Belief {
	var beliefs []Belief
	for _, c := range s.connections(group) {
		beliefs = append(beliefs, c.belief())
	}
	return beliefs
}

func (c *connection) belief() Belief {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	c.server.mu.RLock()
	defer c.server.mu.RUnlock()
	b := Belief{Proxy: s.proxy, Group: s.group, Since: s.since, Seq: s.settled, Behind: len(s.open) + len(c.changed)}
	if b.Behind == 0 && !s.rootsUnasked() {
		b.Seq = c.server.catalog.seq
	}
	for r := range s.refused {
		b.Refused = append(b.Refused, s.refusal(r))
	}
	slices.SortFunc(b.Refused, func(x, y Refusal) int {
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.Name.Name, y.Name.Name))
	})
	return b
}

func (s *session) refusal(r *record) Refusal {
	return Refusal{
		Proxy: s.proxy, Name: r.key.Name(), Version: r.refused.version, Message: r.refused.message,
		Origins: r.want.Origins, At: r.refused.at,
	}
}

// Standing is how far a group's proxies are with some resources.
type Standing struct {
	// Total counts the group's connected proxies; Acknowledged those of them that
	// have the published version of every name, and nothing of a name that is not
	// published.
	Acknowledged, Total int
	Refusals            []Refusal // of any of the names, by proxy
	// Seq and Published are the number and time of the last Publish that changed
	// one of the names; zero when none is published.
	Seq       uint64
	Published time.Time
	// At is when the last proxy of Acknowledged had taken the last of the names;
	// At - Published is how long the change took. Zero when no proxy has.
	At time.Time
}

// Standing returns how far the proxies of a group are with names. It costs
// proxies × names. Proxies that disconnected count neither way.
func (s *Server) Standing(group string, names ...Name) Standing {
	var st Standing
	keys := make([]key, 0, len(names))
	s.mu.RLock()
	for _, n := range names {
		if k, ok := kindOf(n.Type); ok {
			keys = append(keys, key{k, n.Name})
			if it := s.catalog.find(group, key{k, n.Name}); it != nil && it.seq > st.Seq {
				st.Seq, st.Published = it.seq, it.at
			}
		}
	}
	s.mu.RUnlock()
	for _, c := range s.connections(group) {
		c.stand(keys, &st)
	}
	return st
}

// stand adds one proxy to a Standing.
func (c *connection) stand(keys []key, st *Standing) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	c.server.mu.RLock()
	defer c.server.mu.RUnlock()
	st.Total++
	all, last := true, noTime
	for _, k := range keys {
		r := s.records[k.kind][k.name]
		switch it := s.catalog.find(s.group, k); {
		case it == nil:
			all = all && (r == nil || !r.touched)
		case r == nil || r.want != it:
			all = false
		case r.refused != nil:
			all = false
			st.Refusals = append(st.Refusals, s.refusal(r))
		case !r.settledOn(it):
			all = false
		case r.ackedAt.After(last):
			last = r.ackedAt
		}
	}
	if all {
		st.Acknowledged++
		if last.After(st.At) {
			st.At = last
		}
	}
}

// Versions returns what a proxy has acknowledged, version by name; nil when it is
// not connected.
func (s *Server) Versions(group, proxy string) map[Name]string {
	for _, c := range s.connections(group) {
		if c.session.proxy == proxy {
			return c.session.versions()
		}
	}
	return nil
}

func (s *session) versions() map[Name]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	versions := map[Name]string{}
	for k := range numKinds {
		for _, r := range s.records[k] {
			if r.held != nil {
				versions[r.key.Name()] = r.held.Version
			}
		}
	}
	return versions
}

// connections returns the streams of a group, by proxy.
func (s *Server) connections(group string) []*connection {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var cs []*connection
	for c := range s.streams[group] {
		cs = append(cs, c)
	}
	slices.SortFunc(cs, func(a, b *connection) int {
		return cmp.Or(cmp.Compare(a.session.proxy, b.session.proxy), a.session.since.Compare(b.session.since))
	})
	return cs
}
