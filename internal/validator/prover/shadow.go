package prover

import (
	"fmt"
	"strconv"

	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// shadow is what the proving Envoy should have, by the resources that it stands for.
type shadow struct {
	entries map[xdsserve.Scoped]entry
	owners  map[xdsserve.Name]owner
	places  *places
	scopes  uint64 // names given to scopes
}

// entry is what one resource became.
type entry struct {
	version string
	pieces  map[string]xdsserve.Resource // by part
}

// owner is what a resource of the proving Envoy stands for.
type owner struct {
	of   xdsserve.Scoped
	part string // the virtual host, or empty
}

func newShadow() *shadow {
	return &shadow{entries: map[xdsserve.Scoped]entry{}, owners: map[xdsserve.Name]owner{}, places: newPlaces()}
}

// step is one change of a shadow, and what it did to each resource.
type step struct {
	to, back xdsserve.Update
	before   map[xdsserve.Scoped]entry
	// after are the versions that are judged.
	after map[xdsserve.Scoped]string
	// faults are what is known without asking Envoy.
	faults []validator.Refusal
}

// advance turns a change of what is judged into one of what the proving Envoy gets.
func (s *shadow) advance(u xdsserve.Update) step {
	out := step{before: map[xdsserve.Scoped]entry{}, after: map[xdsserve.Scoped]string{}}
	for _, r := range u.Set {
		scoped := xdsserve.Scoped{Group: r.Group, Name: r.Name}
		if !judged(r.Type) || s.entries[scoped].version == r.Version {
			continue
		}
		out.after[scoped] = r.Version
		e, err := s.become(scoped, r)
		if err != nil {
			out.faults = append(out.faults, validator.Refusal{Resources: []xdsserve.Scoped{scoped}, Message: err.Error()})
			continue
		}
		s.replace(&out, scoped, e)
	}
	for _, scoped := range u.Remove {
		if _, there := s.entries[scoped]; there {
			s.replace(&out, scoped, entry{})
		}
	}
	return out
}

// retreat undoes a step.
func (s *shadow) retreat(done step) {
	for scoped, e := range done.before {
		s.own(scoped, s.entries[scoped], e)
		s.keep(scoped, e)
	}
}

func (s *shadow) replace(out *step, scoped xdsserve.Scoped, e entry) {
	old := s.entries[scoped]
	out.before[scoped] = old
	s.own(scoped, old, e)
	s.keep(scoped, e)
	difference(&out.to, old, e)
	difference(&out.back, e, old)
}

func (s *shadow) keep(scoped xdsserve.Scoped, e entry) {
	if e.pieces == nil {
		delete(s.entries, scoped)
		return
	}
	s.entries[scoped] = e
}

func (s *shadow) own(scoped xdsserve.Scoped, old, e entry) {
	for part, piece := range old.pieces {
		if _, stays := e.pieces[part]; !stays {
			delete(s.owners, piece.Name)
		}
	}
	for part, piece := range e.pieces {
		if _, was := old.pieces[part]; !was {
			s.owners[piece.Name] = owner{scoped, part}
		}
	}
}

// difference adds to an update what turns one entry into another.
func difference(u *xdsserve.Update, from, to entry) {
	for part, piece := range to.pieces {
		if was, there := from.pieces[part]; !there || was.Version != piece.Version {
			u.Set = append(u.Set, piece)
		}
	}
	for part, piece := range from.pieces {
		if _, stays := to.pieces[part]; !stays {
			u.Remove = append(u.Remove, xdsserve.Scoped{Group: Group, Name: piece.Name})
		}
	}
}

// become makes the entry of a resource.
func (s *shadow) become(scoped xdsserve.Scoped, r xdsserve.Resource) (entry, error) {
	if r.Type == xdsserve.Routes || r.Type == xdsserve.Scopes {
		return s.scatter(r, s.entries[scoped])
	}
	piece, err := s.prove(r)
	return entry{version: r.Version, pieces: map[string]xdsserve.Resource{"": piece}}, err
}

func (s *shadow) prove(r xdsserve.Resource) (xdsserve.Resource, error) {
	switch r.Type {
	case xdsserve.Secret:
		return proveSecret(r)
	case xdsserve.Cluster:
		return proveCluster(r)
	case xdsserve.Listener:
		return proveListener(r, s.places)
	default:
		return xdsserve.Resource{}, fmt.Errorf("resources of type %s are not judged", r.Type)
	}
}

// scatter makes a scope of each host of a table or scope. One that was there before
// keeps its name, and one that has not changed stays as it is.
func (s *shadow) scatter(r xdsserve.Resource, old entry) (entry, error) {
	hosts, err := hostsOf(r)
	if err != nil {
		return entry{}, err
	}
	out := entry{version: r.Version, pieces: make(map[string]xdsserve.Resource, len(hosts))}
	for _, h := range hosts {
		piece, there := old.pieces[h.part]
		if !there {
			s.scopes++
			piece = xdsserve.Resource{Name: xdsserve.Name{Type: xdsserve.Scopes, Name: scopeSet + strconv.FormatUint(s.scopes, 36)}, Group: Group}
		}
		if piece.Version != h.version {
			piece.Version, piece.Body = h.version, scopeOf(piece.Name.Name, h.table())
		}
		out.pieces[h.part] = piece
	}
	return out, nil
}

// judged tells whether resources of a type are published to the proving Envoy.
func judged(t xdsserve.Type) bool { return t != xdsserve.Endpoints }
