package derive

import (
	"iter"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Delta is what changed in the collections of a Graph from one State to another.
type Delta struct {
	graph   *Graph
	changes [][]change // by node id, in key order
}

// Change is one difference in a collection; Had and Has tell whether Old and New exist.
type Change[V any] struct {
	Key      string
	Old, New V
	Had, Has bool
}

// change is one difference in what is stored of a collection.
type change struct {
	key      string
	old, new any
	had, has bool
}

// Between returns what differs from one State of g to another, whichever came
// first, at the cost of the differences.
func (g *Graph) Between(from, to State) Delta {
	d := Delta{graph: g, changes: make([][]change, len(g.nodes))}
	g.inputChanges(from.View(), to.View(), d.changes)
	for _, n := range g.nodes {
		if n.kind == inputNode || n.kind == projectNode {
			continue
		}
		for c := range store.DiffMaps(from.values(n), to.values(n), n.equal) {
			d.changes[n.id] = append(d.changes[n.id], change{c.Key, c.Old, c.New, c.Had, c.Has})
		}
	}
	return d
}

func (s State) values(n *node) store.Map[string, any] {
	if !s.covers(n) {
		return store.Map[string, any]{}
	}
	return s.s.all(n)
}

// Changes yields what changed in one collection, in key order.
func Changes[V any](d Delta, of Collection[V]) iter.Seq[Change[V]] {
	return func(yield func(Change[V]) bool) {
		if d.graph == nil {
			return
		}
		if d.graph != of.node.graph {
			panic(misuse("%q is read from a delta of another graph", of.node.name))
		}
		for _, c := range d.changes[of.node.stored().id] {
			if !yield(typed[V](of.node, c)) {
				return
			}
		}
	}
}

func typed[V any](n *node, c change) Change[V] {
	t := Change[V]{Key: c.key}
	if c.had {
		old, ok := n.tryShown(c.key, c.old)
		t.Old, t.Had = as[V](old), ok
	}
	if c.has {
		now, ok := n.tryShown(c.key, c.new)
		t.New, t.Has = as[V](now), ok
	}
	return t
}
