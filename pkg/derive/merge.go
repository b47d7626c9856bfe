package derive

import "slices"

// Merge shows one collection over another: where both have a key, first has it. It
// runs no function.
func Merge[V any](g *Graph, name string, first, second Collection[V], opts ...Option[V]) Collection[V] {
	n := derived(name, mergeNode, first.node, opts)
	n.other = second.node
	return Collection[V]{g.add(n)}
}

// evaluateMerge settles every key that changed in one of the two sources.
func (e *evaluation) evaluateMerge(n *node) {
	var keys []string
	for _, src := range []*node{n.src, n.other} {
		for _, c := range e.changes[src.stored().id] {
			keys = append(keys, c.key)
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		v, ok := e.next.value(n.src, key)
		if !ok {
			v, ok = e.next.value(n.other, key)
		}
		e.setValue(n, key, v, ok)
	}
}
