package derive

// Reduce derives one value per bucket that has members, or none where f returns false. f reads
// the bucket through Exists, Size, First, Keys or All.
func Reduce[S, V any](g *Graph, name string, src Index[S], f func(c *Ctx, bucket string) (V, bool), opts ...Option[V]) Collection[V] {
	n := derived(name, reduceNode, src.node, opts)
	n.reduce = func(c *Ctx, bucket string) (any, bool) { return f(c, bucket) }
	return Collection[V]{g.add(n)}
}

// evaluateReduce runs the function of a Reduce for its stale buckets.
func (e *evaluation) evaluateReduce(n *node) {
	for _, b := range e.touched[n.src.id] {
		if b.existed() != b.exists() {
			e.mark(n.id, b.bucket)
		}
	}
	for _, bucket := range e.stale(n) {
		var v any
		ok := false
		if e.next.bucket(n.src, bucket).Len() > 0 {
			ok = e.run(n, bucket, func(c *Ctx) bool {
				v, ok = n.reduce(c, bucket)
				return ok && e.count(n, v)
			})
		} else {
			e.forget(n, bucket)
		}
		e.setValue(n, bucket, v, ok)
	}
}
