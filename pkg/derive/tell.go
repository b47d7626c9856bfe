package derive

import (
	"slices"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// remember replaces the recorded reads and wants of a key of n.
func (e *evaluation) remember(n *node, key string, reads []read, wants []store.Key) {
	t := &e.next.tables[n.id]
	put(e, &t.wants, key, wants, len(wants) > 0)
	old, _ := t.reads.Get(key)
	if slices.Equal(old, reads) {
		return
	}
	put(e, &t.reads, key, slices.Clone(reads), len(reads) > 0)
	diffReads(old, reads,
		func(r read) { e.edge(n, r).remove(e, r.cell, key) },
		func(r read) { e.edge(n, r).add(e, r.cell, key) })
}

// edge returns the edge of a read by n, to be changed.
func (e *evaluation) edge(n *node, r read) *edge {
	t := &e.next.tables[r.target]
	if !e.owned[r.target] {
		unused := func(e edge) bool { return e.cells.Len() == 0 }
		t.edges = slices.DeleteFunc(slices.Clone(t.edges), unused)
		e.owned[r.target] = true
	}
	p := port{reader: n.id, mode: r.mode, first: r.first}
	i := slices.IndexFunc(t.edges, func(e edge) bool { return e.port == p })
	if i < 0 {
		i = len(t.edges)
		t.edges = append(t.edges, edge{port: p})
	}
	return &t.edges[i]
}

// mark makes a key of a node stale.
func (e *evaluation) mark(id int, key string) { e.dirty[id] = append(e.dirty[id], key) }

// markReaders makes stale who asked the question of an edge about a cell.
func (e *evaluation) markReaders(of *edge, cell string) {
	readers, _ := of.cells.Get(cell)
	for key := range readers.All() {
		e.mark(of.reader, key)
	}
}

// markSourceChanges makes stale what changed in the collection that n is derived from.
func (e *evaluation) markSourceChanges(n *node) {
	for _, c := range e.changes[n.src.stored().id] {
		e.mark(n.id, c.key)
	}
}

// stale returns the keys of n that were marked, in order.
func (e *evaluation) stale(n *node) []string {
	keys := e.dirty[n.id]
	slices.Sort(keys)
	return slices.Compact(keys)
}

// tellKeyReaders makes stale who read a key or a prefix that changed in n.
func (e *evaluation) tellKeyReaders(n *node) {
	edges := e.next.tables[n.id].edges
	for i := range edges {
		for _, c := range e.changes[n.id] {
			switch {
			case edges[i].mode == readPrefix:
				for end := range len(c.key) + 1 {
					e.markReaders(&edges[i], c.key[:end])
				}
			case edges[i].mode == readValue || c.had != c.has:
				e.markReaders(&edges[i], c.key)
			}
		}
	}
}

// tellBucketReaders makes stale whose question about a bucket of n has another answer.
func (e *evaluation) tellBucketReaders(n *node) {
	edges := e.next.tables[n.id].edges
	for i := range edges {
		for _, b := range e.touched[n.id] {
			if b.concerns(edges[i].port) {
				e.markReaders(&edges[i], b.bucket)
			}
		}
	}
}
