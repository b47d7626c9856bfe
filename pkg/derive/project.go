package derive

// Project is a view of src that is computed when read: no reads, no storage, no function counted.
// Its values change when and only when those of src do. Where f panics, the
// function that reads the value faults; read from a State, there is no value.
func Project[S, V any](g *Graph, name string, src Collection[S], f func(key string, v S) V) Collection[V] {
	return Collection[V]{g.add(&node{
		name: name, kind: projectNode, src: src.node,
		project: func(key string, v any) any { return f(key, as[S](v)) },
	})}
}

// stored is the node whose changes are those of n: a projection has its source's.
func (n *node) stored() *node {
	for n.kind == projectNode {
		n = n.src
	}
	return n
}

// shown returns what n shows of a value that is stored behind it.
func (n *node) shown(key string, stored any) any {
	if n.kind == projectNode {
		return n.project(key, n.src.shown(key, stored))
	}
	return meta(stored)
}

// tryShown is shown for readers that no Fault can stand for.
func (n *node) tryShown(key string, stored any) (v any, ok bool) {
	if n.kind != projectNode {
		return meta(stored), true
	}
	defer func() {
		if recover() != nil {
			v, ok = nil, false
		}
	}()
	return n.shown(key, stored), true
}
