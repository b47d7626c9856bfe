package derive

import (
	"iter"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// State is every collection of a Graph evaluated over one View. It is immutable
// and shares structure with the States it came from. The zero State is the
// evaluation of the empty View.
type State struct{ s *state }

// state is never changed once the Eval that makes it has returned.
type state struct {
	graph  *Graph
	view   store.View
	tables []table // by node id
}

// table is what is kept of one node. Which fields are used depends on its kind.
type table struct {
	values store.Map[string, any] // of a collection

	items   store.Map[string, []Item[any]] // of an Expand: by source key, in item order
	member  store.Map[string, []string]    // of a Group: source key → its buckets, in order
	buckets store.Map[string, set]         // of a Group: bucket → source keys

	reads  store.Map[string, []read]      // by key of this node, in order
	wants  store.Map[string, []store.Key] // by key of this node
	faults store.Map[string, Fault]       // by key of this node

	edges []edge // who reads this node
}

// raw returns the stored value of a key, an on-demand value as such.
func (s *state) raw(n *node, key string) (any, bool) {
	switch n.kind {
	case inputNode:
		return s.view.Get(store.Key{Collection: n.name, Name: key})
	case projectNode:
		v, ok := s.value(n.src, key)
		if !ok {
			return nil, false
		}
		return n.project(key, v), true
	default:
		return s.tables[n.id].values.Get(key)
	}
}

func (s *state) value(n *node, key string) (any, bool) {
	v, ok := s.raw(n, key)
	return meta(v), ok
}

// all returns the stored values behind a collection.
func (s *state) all(n *node) store.Map[string, any] {
	if n = n.stored(); n.kind == inputNode {
		return s.view.Collection(n.name)
	}
	return s.tables[n.id].values
}

func (s *state) has(n *node, key string) bool { return s.all(n).Has(key) }

// prefix yields the values of a collection in key order.
func (s *state) prefix(n *node, prefix string) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for key, v := range s.all(n).Prefix(prefix) {
			if !yield(key, n.shown(key, v)) {
				return
			}
		}
	}
}

func (s *state) bucket(n *node, bucket string) set {
	members, _ := s.tables[n.id].buckets.Get(bucket)
	return members
}
