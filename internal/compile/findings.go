package compile

import (
	"iter"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Findings are the findings of all kinds: one for every object of a view, and
// none for anything else.
type Findings struct {
	kinds map[string]derive.Collection[Finding] // each by "namespace/name" or "name"
}

// Lookup returns what a State says of one object.
func (f Findings) Lookup(s derive.State, object store.Key) (Finding, bool) {
	of, ok := f.kinds[object.Collection]
	if !ok {
		return Finding{}, false
	}
	return derive.Lookup(s, of, object.Name)
}

// All yields every finding of a State in order of object.
func (f Findings) All(s derive.State) iter.Seq2[store.Key, Finding] {
	return func(yield func(store.Key, Finding) bool) {
		for _, kind := range snapshot.Kinds {
			of, ok := f.kinds[kind.Name]
			if !ok {
				continue
			}
			for name, finding := range derive.Items(s, of) {
				if !yield(store.Key{Collection: kind.Name, Name: name}, finding) {
					return
				}
			}
		}
	}
}

// Changes yields the findings that a Delta changes, in order of object. The Key
// of each is the object as a string.
func (f Findings) Changes(d derive.Delta) iter.Seq[derive.Change[Finding]] {
	return func(yield func(derive.Change[Finding]) bool) {
		for _, kind := range snapshot.Kinds {
			of, ok := f.kinds[kind.Name]
			if !ok {
				continue
			}
			for change := range derive.Changes(d, of) {
				change.Key = store.Key{Collection: kind.Name, Name: change.Key}.String()
				if !yield(change) {
					return
				}
			}
		}
	}
}
