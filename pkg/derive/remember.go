package derive

import (
	"slices"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// remember replaces the recorded reads and wants of a key of n.
func (e *evaluation) remember(n *node, key string, reads []read, wants []store.Key) {
	t := &e.next.tables[n.id]
	if len(wants) > 0 {
		t.wants = t.wants.Set(key, wants)
	} else {
		t.wants = t.wants.Delete(key)
	}
	old, _ := t.reads.Get(key)
	if slices.Equal(old, reads) {
		return
	}
	if len(reads) > 0 {
		t.reads = t.reads.Set(key, slices.Clone(reads))
	} else {
		t.reads = t.reads.Delete(key)
	}
	diffReads(old, reads,
		func(r read) { e.edge(n, r).remove(r.cell, key) },
		func(r read) { e.edge(n, r).add(r.cell, key) })
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

// tell marks readers of an edge to be run again.
func (e *evaluation) tell(p port, readers set) {
	dirty := e.dirty[p.reader]
	if dirty == nil {
		dirty = map[string]struct{}{}
		e.dirty[p.reader] = dirty
	}
	for key := range readers.All() {
		dirty[key] = struct{}{}
	}
}

// tellKeyReaders marks who read a key or a prefix that changed in n.
func (e *evaluation) tellKeyReaders(n *node) {
	for i := range e.next.tables[n.id].edges {
		edge := &e.next.tables[n.id].edges[i]
		for _, c := range e.changes[n.id] {
			switch {
			case edge.mode == readPrefix:
				edge.eachPrefixOf(c.key, func(readers set) { e.tell(edge.port, readers) })
			case edge.mode == readValue || c.had != c.has:
				readers, _ := edge.cells.Get(c.key)
				e.tell(edge.port, readers)
			}
		}
	}
}

// tellBucketReaders marks whose question about a bucket of n has another answer.
func (e *evaluation) tellBucketReaders(n *node) {
	for i := range e.next.tables[n.id].edges {
		edge := &e.next.tables[n.id].edges[i]
		for _, b := range e.touched[n.id] {
			if b.concerns(edge.port) {
				readers, _ := edge.cells.Get(b.bucket)
				e.tell(edge.port, readers)
			}
		}
	}
}
