package model

import "github.com/gatehouse-proxy/gatehouse/internal/lab"

// group is the proxies that run one model side by side, and what they believe together:
// what all believe fully, and of the rest what any believes at least partly.
type group struct {
	members  []*member
	backends map[string]*tally
	ledger   lab.Ledger
}

// tally counts how many members of a group believe in one backend.
type tally struct {
	name        string
	fully, some int
	level       lab.Level
}

// newGroup makes the proxies of s. The first is on time and the last late by the
// spread, the others evenly between: late in hearing of everything, or, for DNS, in the
// moments at which they ask.
func newGroup(s Spec, line lab.Timeline) *group {
	g := &group{backends: make(map[string]*tally)}
	for i := range s.proxies {
		late := lab.Moment(0)
		if i > 0 {
			late = s.spread * lab.Moment(i) / lab.Moment(s.proxies-1)
		}
		m := &member{spec: s, group: g, events: line.Events, load: never}
		m.live(line.Reload, late)
		g.members = append(g.members, m)
	}
	return g
}

// live sets when m hears and loads.
func (m *member) live(policy lab.Policy, late lab.Moment) {
	plain := lab.ModelReload
	switch m.spec.Model {
	case lab.ModelStream:
		plain, m.delay = lab.ModelStream, m.spec.delay+late
	case lab.ModelDNS:
		m.schedule = func(changed, _ lab.Moment) lab.Moment { return ask(changed, late, m.spec.ttl) }
	case lab.ModelReload:
		if m.spec.policy != nil {
			policy = *m.spec.policy
		}
		m.delay, m.loaded = late, -policy.Interval
		if policy.OnChange {
			m.schedule = func(changed, loaded lab.Moment) lab.Moment {
				return max(changed+policy.Batch, loaded+policy.Interval)
			}
		}
	}
	m.cluster = newCluster(plain, m.change)
}

// ask returns when a resolver that asked at first, and again at each ttl after it, asks
// next at or after changed. Requests come all the time, so it never waits for one.
func ask(changed, first, ttl lab.Moment) lab.Moment {
	periods := (max(0, changed-first) + ttl - 1) / ttl
	return first + periods*ttl
}

// tell records that the member whose belief b is believes to level from at on.
func (g *group) tell(at lab.Moment, b *belief, level lab.Level) error {
	t := b.tally
	t.fully += count(level == lab.Fully) - count(b.level == lab.Fully)
	t.some += count(level > lab.None) - count(b.level > lab.None)
	b.level = level
	together := lab.Partly
	switch {
	case t.some == 0:
		together = lab.None
	case t.fully == len(g.members):
		together = lab.Fully
	}
	if together == t.level {
		return nil
	}
	t.level = together
	return g.ledger.Belief(at, t.name, together)
}

func (g *group) tally(name string) *tally {
	t, known := g.backends[name]
	if !known {
		t = &tally{name: name}
		g.backends[name] = t
	}
	return t
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
