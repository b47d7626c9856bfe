package derive

import (
	"iter"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// View returns what the State was evaluated over.
func (s State) View() store.View {
	if s.s == nil {
		return store.View{}
	}
	return s.s.view
}

// Lookup returns a value of a State.
func Lookup[V any](s State, in Collection[V], key string) (V, bool) {
	var none V
	stored, ok := s.values(in.node).Get(key)
	if !ok {
		return none, false
	}
	v, ok := in.node.tryShown(key, stored)
	return as[V](v), ok
}

// Items yields all values of a collection of a State in key order.
func Items[V any](s State, in Collection[V]) iter.Seq2[string, V] {
	return ItemsWithPrefix(s, in, "")
}

// ItemsWithPrefix yields the values of a State whose key starts with prefix, in key order.
func ItemsWithPrefix[V any](s State, in Collection[V], prefix string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for key, stored := range s.values(in.node).Prefix(prefix) {
			if v, ok := in.node.tryShown(key, stored); ok && !yield(key, as[V](v)) {
				return
			}
		}
	}
}

// Bucket yields the members of a bucket of a State in key order.
func Bucket[V any](s State, in Index[V], bucket string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if !s.covers(in.node) {
			return
		}
		src := Collection[V]{in.node.src}
		for key := range s.s.bucket(in.node, bucket).All() {
			if v, ok := Lookup(s, src, key); ok && !yield(key, v) {
				return
			}
		}
	}
}

// Buckets yields the buckets of a State that have members, and how many, in order.
func Buckets[V any](s State, in Index[V]) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		if !s.covers(in.node) {
			return
		}
		for bucket, members := range s.s.tables[in.node.id].buckets.All() {
			if !yield(bucket, members.Len()) {
				return
			}
		}
	}
}

// Faults returns the faults that stand, by node in definition order and then by key.
func (s State) Faults() []Fault {
	var faults []Fault
	for _, t := range s.tables() {
		for _, fault := range t.faults.All() {
			faults = append(faults, fault)
		}
	}
	return faults
}

// Wants returns the on-demand values that functions asked for and whose body is
// unread, in key order.
func (s State) Wants() []store.Key {
	var wants []store.Key
	for _, t := range s.tables() {
		for _, keys := range t.wants.All() {
			wants = append(wants, keys...)
		}
	}
	slices.SortFunc(wants, store.Key.Compare)
	return slices.Compact(wants)
}

func (s State) tables() []table {
	if s.s == nil {
		return nil
	}
	return s.s.tables
}

// covers tells whether the State is an evaluation of the node's graph.
func (s State) covers(n *node) bool {
	switch {
	case n == nil:
		panic(misuse("a zero handle is read"))
	case s.s == nil:
		return false
	case s.s.graph != n.graph:
		panic(misuse("%q is read from a state of another graph", n.name))
	default:
		return true
	}
}
