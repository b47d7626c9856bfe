package postgres

import (
	"maps"
	"slices"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
)

// place is an endpoint as a deployment's sessions are at it. What else a target says of
// its backend may change while they run.
type place struct {
	deployment string
	pooled     bool
	address    string
}

func placeOf(t discovery.Target) place {
	return place{t.Backend.Deployment, t.Backend.Pooled, t.Address}
}

// roster holds the sessions that there are, those included that are still being
// connected, and where each is.
type roster struct {
	mu  sync.Mutex
	all map[*running]bool
	// opaque are those of which nothing is read.
	opaque int
	at     map[place]map[*running]bool
	// ended is what sessions have carried that are over, by label.
	ended map[string]traffic
}

func newRoster() *roster {
	return &roster{all: map[*running]bool{}, at: map[place]map[*running]bool{}, ended: map[string]traffic{}}
}

func (r *roster) enter(s *running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[s] = true
	if s.opaque {
		r.opaque++
	}
}

func (r *roster) exit(s *running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, s)
	if s.opaque {
		r.opaque--
	}
	if t, carried := s.forwarded(); carried {
		r.ended[s.label] = r.ended[s.label].plus(t)
	}
}

// unread tells whether there are sessions whose keys nobody here has learnt.
func (r *roster) unread() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opaque > 0
}

// arrive says that a session is at a place from now on, depart that it is not.
func (r *roster) arrive(s *running, p place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at[p] == nil {
		r.at[p] = map[*running]bool{}
	}
	r.at[p][s] = true
}

func (r *roster) depart(s *running, p place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.at[p], s)
	if len(r.at[p]) == 0 {
		delete(r.at, p)
	}
}

// sessions returns all sessions; those at one place with at.
func (r *roster) sessions() []*running {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.all))
}

func (r *roster) sessionsAt(p place) []*running {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.at[p]))
}
