package derive

import (
	"math"
	"sync/atomic"
)

// Graph is the fixed set of collections and how each is derived. Build it once,
// from one goroutine; then it is immutable and may be evaluated from any number.
// Adding to it after its first Eval panics.
type Graph struct {
	nodes  []*node // in definition order; each reads earlier ones only
	inputs map[string][]*node
	names  map[string]bool
	sealed atomic.Bool
}

// New returns an empty Graph.
func New() *Graph {
	return &Graph{inputs: map[string][]*node{}, names: map[string]bool{}}
}

// Collection is a handle on a keyed set of values of type V. Keys are ordered bytewise.
type Collection[V any] struct{ node *node }

// Index is a handle on a collection grouped into buckets.
type Index[V any] struct{ node *node }

// Item is one keyed value.
type Item[V any] struct {
	Key   string
	Value V
}

type kind uint8

const (
	inputNode kind = iota
	mapNode
	expandNode
	groupNode
	reduceNode
	projectNode
	unionNode
	mergeNode
)

// node is one collection or index. Exactly the function of its kind is set.
type node struct {
	graph *Graph
	id    int
	name  string
	kind  kind
	src   *node // nil for an input
	other *node // of a merge: the second source

	check   func(any) error // that an input's value has the input's type
	mapper  func(c *Ctx, key string, src any) (any, bool)
	expand  func(c *Ctx, key string, src any) []Item[any]
	buckets func(key string, v any) []string
	reduce  func(c *Ctx, bucket string) (any, bool)
	project func(key string, v any) any
	parts   []part

	equal func(a, b any) bool
	bytes func(any) int
}

func (g *Graph) add(n *node) *node {
	switch {
	case g.sealed.Load():
		panic(misuse("%q is defined after the graph was evaluated", n.name))
	case n.kind != inputNode && n.src == nil:
		panic(misuse("%q has a zero handle as its source", n.name))
	case n.kind == mergeNode && n.other == nil:
		panic(misuse("%q has a zero handle as its second source", n.name))
	case n.src != nil && n.src.graph != g || n.other != nil && n.other.graph != g:
		panic(misuse("%q has a source of another graph", n.name))
	case n.kind != inputNode && g.names[n.name]:
		panic(misuse("%q is defined twice", n.name))
	}
	if len(g.nodes) > math.MaxUint16 {
		panic(misuse("%q is one collection too many", n.name))
	}
	n.graph, n.id = g, len(g.nodes)
	g.nodes = append(g.nodes, n)
	if n.kind == inputNode {
		g.inputs[n.name] = append(g.inputs[n.name], n)
	} else {
		g.names[n.name] = true
	}
	return n
}
