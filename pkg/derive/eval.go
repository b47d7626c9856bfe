package derive

import "github.com/gatehouse-proxy/gatehouse/pkg/store"

// Result is what one Eval produced.
type Result struct {
	State State
	// Delta is what changed from the State that Eval started from.
	Delta Delta
	// Wants are on-demand values that functions asked for and that are not in the
	// View yet: all that stand, in key order, as State.Wants returns them.
	Wants []store.Key
	// Faults are functions that panicked in this Eval; each leaves its key without a
	// value. State.Faults returns all that stand.
	Faults []Fault
	Work   Work
}

// Work counts what an Eval did.
type Work struct {
	Functions map[string]int // runs by node name
	Members   int            // members of buckets and prefixes that functions visited
	Bytes     int            // by BytesFunc
}

// Eval evaluates g over view, starting from any earlier State of g.
func (g *Graph) Eval(from State, view store.View) Result {
	if from.s != nil && from.s.graph != g {
		panic(misuse("Eval starts from a state of another graph"))
	}
	g.sealed.Store(true)
	e := newEvaluation(g, from, view)
	g.inputChanges(from.View(), view, e.changes)
	for _, n := range g.nodes {
		e.evaluate(n)
	}
	state := State{e.next}
	return Result{
		State:  state,
		Delta:  Delta{graph: g, changes: e.changes},
		Wants:  state.Wants(),
		Faults: e.faults,
		Work:   e.work,
	}
}

// evaluation is one Eval in progress. Nodes are evaluated in definition order, so
// that whatever a function reads is final.
type evaluation struct {
	next    *state // becomes the result
	changes [][]change
	draft   *store.Draft
	dirty   [][]string       // by node id: keys to run, some more than once
	touched [][]bucketChange // by id of a Group, in order
	owned   []bool           // by node id: whether next has edges of its own
	buffer  []read           // reused by Ctx
	faults  []Fault
	work    Work
}

func newEvaluation(g *Graph, from State, view store.View) *evaluation {
	tables := make([]table, len(g.nodes))
	copy(tables, from.tables())
	return &evaluation{
		next:    &state{graph: g, view: view, tables: tables},
		changes: make([][]change, len(g.nodes)),
		dirty:   make([][]string, len(g.nodes)),
		touched: make([][]bucketChange, len(g.nodes)),
		owned:   make([]bool, len(g.nodes)),
		draft:   new(store.Draft),
		work:    Work{Functions: map[string]int{}},
	}
}

func (e *evaluation) evaluate(n *node) {
	switch n.kind {
	case inputNode:
		e.evaluateInput(n)
	case projectNode: // has the changes of its source, and no readers of its own
		return
	case mapNode:
		e.evaluateMap(n)
	case expandNode:
		e.evaluateExpand(n)
	case mergeNode:
		e.evaluateMerge(n)
	case reduceNode:
		e.evaluateReduce(n)
	case unionNode:
		e.evaluateUnion(n)
	case groupNode:
		e.evaluateGroup(n)
		e.tellBucketReaders(n)
		return
	}
	e.tellKeyReaders(n)
}

// run calls a function of n for key and records what it read. A panic leaves a
// Fault, and false.
func (e *evaluation) run(n *node, key string, f func(c *Ctx) bool) (ok bool) {
	c := &Ctx{run: e, node: n, key: key, reads: e.buffer[:0]}
	e.work.Functions[n.name]++
	fault := protect(n, key, func() { ok = f(c) })
	c.run = nil
	e.buffer = c.reads
	e.remember(n, key, sortReads(c.reads), c.wants)
	e.setFault(n, key, fault)
	return ok && fault == nil
}

// forget drops what is kept of a key of n that has no source any more.
func (e *evaluation) forget(n *node, key string) {
	e.remember(n, key, nil, nil)
	e.setFault(n, key, nil)
}

// count counts a value that a function of n produced.
func (e *evaluation) count(n *node, v any) bool {
	e.work.Bytes += n.bytes(v)
	return true
}

// setValue stores what a key of n has now, and notes the change if it is one.
// Keys come in order.
func (e *evaluation) setValue(n *node, key string, v any, ok bool) {
	values := &e.next.tables[n.id].values
	old, had := values.Get(key)
	if !had && !ok || had && ok && n.equal(old, v) {
		return
	}
	if !ok {
		v = nil
	}
	put(e, values, key, v, ok)
	e.changes[n.id] = append(e.changes[n.id], change{key, old, v, had, ok})
}

// put sets or deletes a key of one of the tables in the making.
func put[V any](e *evaluation, in *store.Map[string, V], key string, v V, keep bool) {
	if keep {
		*in = in.SetIn(e.draft, key, v)
	} else {
		*in = in.DeleteIn(e.draft, key)
	}
}
