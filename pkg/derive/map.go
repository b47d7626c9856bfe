package derive

// Map derives one value per key of src, or none where f returns false.
func Map[S, V any](g *Graph, name string, src Collection[S], f func(c *Ctx, key string, src S) (V, bool), opts ...Option[V]) Collection[V] {
	n := derived(name, mapNode, src.node, opts)
	n.mapper = func(c *Ctx, key string, src any) (any, bool) { return f(c, key, as[S](src)) }
	return Collection[V]{g.add(n)}
}

// evaluateMap runs the function of a Map for its stale keys.
func (e *evaluation) evaluateMap(n *node) {
	e.markSourceChanges(n)
	for _, key := range e.stale(n) {
		var v any
		ok := false
		if e.next.has(n.src, key) {
			ok = e.run(n, key, func(c *Ctx) bool {
				src, _ := e.next.value(n.src, key)
				v, ok = n.mapper(c, key, src)
				return ok && e.count(n, v)
			})
		} else {
			e.forget(n, key)
		}
		e.setValue(n, key, v, ok)
	}
}
