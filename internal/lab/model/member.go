package model

import (
	"math"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

const never = lab.Moment(math.MaxInt64)

// member is one proxy of a group: a cluster, and when it hears of events, when it loads
// what is staged, and how long old workers stay.
type member struct {
	spec    Spec
	group   *group
	cluster *Cluster
	events  []lab.Event // that it has not heard of
	delay   lab.Moment  // from an event until it hears of it

	// schedule says when to load, given when the first change came that is not loaded
	// and when the last load was; nil: at reload events only.
	schedule     func(changed, loaded lab.Moment) lab.Moment
	load, loaded lab.Moment // the next load by schedule, and the last of any kind

	now      lab.Moment
	draining []drained // in order of time
	updates  int
}

// belief is what all workers of one member believe about a backend; the view of its
// cluster is that of the workers which take new requests.
type belief struct {
	changed lab.Moment // when the view changed last
	level   lab.Level
	tally   *tally // nil until the view changes
}

// drained is a change that workers do not know of which are old since then.
type drained struct {
	*backend
	at lab.Moment
}

// next returns when m has something to do, or never.
func (m *member) next() lab.Moment {
	next := m.load
	if len(m.events) > 0 {
		next = min(next, m.events[0].At+m.delay)
	}
	if len(m.draining) > 0 {
		next = min(next, m.draining[0].at+m.spec.drain)
	}
	return next
}

// act does all that is due at now. It hears before it loads, so a load holds all changes
// up to its moment, and it loads before old workers end.
func (m *member) act(now lab.Moment) error {
	m.now = now
	for len(m.events) > 0 && m.events[0].At+m.delay <= now {
		if err := m.hear(m.events[0]); err != nil {
			return err
		}
		m.events = m.events[1:]
	}
	if m.load <= now {
		if err := m.reload(); err != nil {
			return err
		}
	}
	for len(m.draining) > 0 && m.draining[0].at+m.spec.drain <= now {
		if err := m.settle(m.draining[0]); err != nil {
			return err
		}
		m.draining = m.draining[1:]
	}
	return nil
}

func (m *member) hear(e lab.Event) error {
	switch {
	case e.Kind == lab.Lose: // nobody is told
		return nil
	case e.Kind == lab.Reload:
		if m.spec.Model != lab.ModelReload || e.Proxy != "" && e.Proxy != m.spec.Name {
			return nil
		}
		return m.reload()
	case m.spec.Model == lab.ModelStream:
		m.updates++
		return m.cluster.ApplyStreamEvent(e.Kind, e.Backend)
	}
	if err := m.cluster.StageForReload(e.Kind, e.Backend); err != nil {
		return err
	}
	if m.schedule != nil && m.load == never && len(m.cluster.staged) > 0 {
		m.load = m.schedule(m.now, m.loaded)
	}
	return nil
}

func (m *member) reload() error {
	m.load, m.loaded = never, m.now
	m.updates++
	return m.cluster.Reload()
}

// change is told of every change of the cluster's view. With old workers that drain, the
// members of the view are believed by some workers for now: any two views of workers
// that serve at one moment differ in a backend exactly when it changed within the drain.
func (m *member) change(b *backend) error {
	if b.tally == nil {
		b.tally = m.group.tally(b.name)
	}
	b.changed = m.now
	if m.spec.drain == 0 {
		return m.group.tell(m.now, &b.belief, levelOf(b.believed))
	}
	m.draining = append(m.draining, drained{backend: b, at: m.now})
	return m.group.tell(m.now, &b.belief, lab.Partly)
}

// settle ends an old worker: what has not changed since is what all workers believe.
func (m *member) settle(d drained) error {
	if d.changed != d.at {
		return nil
	}
	return m.group.tell(m.now, &d.belief, levelOf(d.believed))
}

func levelOf(believed bool) lab.Level {
	if believed {
		return lab.Fully
	}
	return lab.None
}
