package derive

import (
	"slices"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Origins returns, in order, the keys of the View that a function saw when it ran
// for a key, present or absent, itself or through the values that it read. Node and
// key are those of a [Fault], or of any key that a function ran for. It costs what
// the function saw.
//
// Of a question about a whole bucket the origins are those of its present members;
// of [Exists], those of the first.
func (s State) Origins(node, key string) []store.Key {
	o := origins{state: s.s, seen: map[place]bool{}}
	if s.s != nil {
		for _, n := range s.s.graph.nodes {
			if n.name == node && n.kind != inputNode {
				o.function(n, key)
			}
		}
	}
	slices.SortFunc(o.keys, store.Key.Compare)
	return slices.Compact(o.keys)
}

// place is a key of a node.
type place struct {
	id  int
	key string
}

type origins struct {
	state *state
	seen  map[place]bool // functions
	keys  []store.Key
}

// function adds what the function of a node saw for a key.
func (o *origins) function(n *node, key string) {
	if o.seen[place{n.id, key}] {
		return
	}
	o.seen[place{n.id, key}] = true
	if n.kind != reduceNode && n.kind != unionNode {
		o.value(n.src, key)
	}
	reads, _ := o.state.tables[n.id].reads.Get(key)
	for _, r := range reads {
		o.read(r)
	}
}

// value adds the origins of one value of a collection.
func (o *origins) value(n *node, key string) {
	switch n = n.stored(); n.kind {
	case inputNode:
		o.keys = append(o.keys, store.Key{Collection: n.name, Name: key})
	case mergeNode:
		if o.value(n.src, key); !o.state.has(n.src, key) {
			o.value(n.other, key)
		}
	case expandNode:
		for _, source := range o.state.tables[n.id].sources(key) {
			o.function(n, source)
		}
	case unionNode:
		if of, inside := n.partOf(key); of != nil {
			o.value(of, inside)
		}
	default:
		o.function(n, key)
	}
}

func (o *origins) read(r read) {
	n := o.state.graph.nodes[r.target]
	switch r.mode {
	case readValue, readHas:
		o.value(n, r.cell)
	case readPrefix:
		for key := range o.state.all(n).Prefix(r.cell) {
			o.value(n, key)
		}
	case readExists:
		o.members(n, r.cell, 1)
	case readFirst:
		o.members(n, r.cell, int(r.first))
	default:
		o.members(n, r.cell, o.state.bucket(n, r.cell).Len())
	}
}

// members adds the origins of the first k members of a bucket.
func (o *origins) members(n *node, bucket string, k int) {
	for member := range o.state.bucket(n, bucket).All() {
		if k--; k < 0 {
			return
		}
		o.value(n.src, member)
	}
}
