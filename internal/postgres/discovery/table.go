package discovery

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// Table is a Resolver that never changes. Make it with NewTable.
type Table struct {
	backends []Backend // sorted as All returns them
	byName   map[form]Backend
	spelled  map[string]string // a name without case → as it is registered
}

// form is what a session asks for.
type form struct {
	deployment string
	pooled     bool
}

// NewTable returns the table of backends; of two of the same form the last counts.
func NewTable(backends []Backend) *Table {
	t := &Table{byName: map[form]Backend{}, spelled: map[string]string{}}
	for _, b := range backends {
		t.byName[form{b.Deployment, b.Pooled}] = b
	}
	for _, b := range t.byName {
		t.backends = append(t.backends, b)
	}
	slices.SortFunc(t.backends, byName)
	for _, b := range slices.Backward(t.backends) { // of names that differ in case the first counts
		t.spelled[strings.ToLower(b.Deployment)] = b.Deployment
	}
	return t
}

func byName(a, b Backend) int {
	return cmp.Or(strings.Compare(a.Deployment, b.Deployment), order(a.Pooled)-order(b.Pooled))
}

func order(pooled bool) int {
	if pooled {
		return 1
	}
	return 0
}

// Known implements [session.Deployments].
func (t *Table) Known(name string) (registered string, ok bool) {
	for _, pooled := range []bool{false, true} {
		if _, ok := t.byName[form{name, pooled}]; ok {
			return name, true
		}
	}
	registered, ok = t.spelled[strings.ToLower(name)]
	return registered, ok
}

// Backend implements Resolver.
func (t *Table) Backend(deployment string, pooled bool) (Backend, bool) {
	b, ok := t.byName[form{deployment, pooled}]
	return b, ok
}

// Resolve implements Resolver; what is in the table is ready.
func (t *Table) Resolve(deployment string, pooled bool) (Target, error) {
	b, ok := t.byName[form{deployment, pooled}]
	if !ok {
		_, other := t.byName[form{deployment, !pooled}]
		return Target{}, &UnknownError{Deployment: deployment, Pooled: pooled, Other: other}
	}
	return Target{Backend: b, Address: b.Address()}, nil
}

// Serves implements Resolver; what is in the table stays.
func (t *Table) Serves(target Target) bool {
	_, ok := t.byName[form{target.Backend.Deployment, target.Backend.Pooled}]
	return ok
}

// Changed implements Resolver; a table never changes.
func (t *Table) Changed() <-chan struct{} { return nil }

// All implements Resolver.
func (t *Table) All() iter.Seq[Backend] { return slices.Values(t.backends) }
