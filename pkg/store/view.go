package store

import "iter"

// View is the immutable set of all values at one revision. The zero View is
// empty. v == w tells whether two Views are the very same, not whether they have
// the same values.
type View struct{ s *state }

type state struct {
	collections Map[string, Map[string, any]] // without empty ones
	identity    *identity
	journal     journal
}

// origin is the zero View's state.
var origin = &state{identity: new(identity)}

func (v View) state() *state {
	if v.s == nil {
		return origin
	}
	return v.s
}

// Revision returns how many batches led to the View.
func (v View) Revision() Revision { return v.state().identity.revision }

// Get returns the value of a key.
func (v View) Get(k Key) (any, bool) { return v.Collection(k.Collection).Get(k.Name) }

// Len returns how many values a collection has.
func (v View) Len(collection string) int { return v.Collection(collection).Len() }

// Collection returns the values of a collection by name.
func (v View) Collection(name string) Map[string, any] {
	values, _ := v.state().collections.Get(name)
	return values
}

// Collections yields the names of the collections that have values, in order.
func (v View) Collections() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range v.state().collections.All() {
			if !yield(name) {
				return
			}
		}
	}
}

// Prefix yields the values of a collection whose names start with prefix, in order of name.
func (v View) Prefix(collection, prefix string) iter.Seq2[string, any] {
	return v.Collection(collection).Prefix(prefix)
}

// DescendsFrom reports whether ancestor is v or one of the Views that v was made
// from. A View that only has the same values is no ancestor, nor is a sibling. A
// View remembers at least 64 batches; an ancestor further back is reported as none,
// except the empty View, which always is one.
func (v View) DescendsFrom(ancestor View) bool {
	if v == ancestor || ancestor.Revision() == 0 {
		return true
	}
	_, descends, _ := v.state().journal.since(ancestor.state().identity)
	return descends
}
