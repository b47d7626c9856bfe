package gc

import (
	"maps"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// memory is what this process knows of the instances that it has seen.
type memory map[identity]*record

type record struct {
	since    time.Time
	failures int
}

// list is what one provider answered. It is complete without an error.
type list struct {
	provider  string
	instances []provider.Instance
	err       error
}

// see returns the instances of a list with what is known of them, and forgets those
// that a complete list lacks.
func (m memory) see(l list, now time.Time) []Sighting {
	listed := make(map[identity]bool, len(l.instances))
	seen := make([]Sighting, 0, len(l.instances))
	for _, i := range l.instances {
		s := Sighting{Provider: l.provider, Instance: i}
		listed[s.identity()] = true
		known := m[s.identity()]
		if known == nil {
			known = &record{since: now}
			m[s.identity()] = known
		}
		s.Since, s.Failures = known.since, known.failures
		seen = append(seen, s)
	}
	if l.err == nil {
		maps.DeleteFunc(m, func(who identity, _ *record) bool { return who.provider == l.provider && !listed[who] })
	}
	return seen
}

// failed notes that a provider refused a deletion.
func (m memory) failed(who identity) {
	if known := m[who]; known != nil {
		known.failures++
	}
}
