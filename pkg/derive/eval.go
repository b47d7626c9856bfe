package derive

import (
	"maps"
	"runtime/debug"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

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

// Fault is a function that panicked.
type Fault struct {
	Node, Key string
	Panic     any
	Stack     []byte
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
		panic(misusef("Eval starts from a state of another graph"))
	}
	g.sealed.Store(true)
	e := newEvaluation(g, from, view)
	e.readView(from.View(), view)
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
	dirty   []map[string]struct{} // by node id: keys whose reads changed
	touched [][]bucketChange      // by id of a Group
	owned   []bool                // by node id: whether next has edges of its own
	buffer  []read                // reused by Ctx
	faults  []Fault
	work    Work
}

func newEvaluation(g *Graph, from State, view store.View) *evaluation {
	tables := make([]table, len(g.nodes))
	copy(tables, from.tables())
	return &evaluation{
		next:    &state{graph: g, view: view, tables: tables},
		changes: make([][]change, len(g.nodes)),
		dirty:   make([]map[string]struct{}, len(g.nodes)),
		touched: make([][]bucketChange, len(g.nodes)),
		owned:   make([]bool, len(g.nodes)),
		work:    Work{Functions: map[string]int{}},
	}
}

// readView turns the differences of two Views into changes of the inputs.
func (e *evaluation) readView(from, to store.View) {
	for d := range store.Diff(from, to) {
		for _, n := range e.next.graph.inputs[d.Collection] {
			if d.New != nil {
				if err := n.check(d.New); err != nil {
					panic(misusef("input %s %v", d.Key, err))
				}
			}
			e.changes[n.id] = append(e.changes[n.id], change{d.Name, d.Old, d.New, d.Old != nil, d.New != nil})
		}
	}
}

func (e *evaluation) evaluate(n *node) {
	switch n.kind {
	case mapNode:
		e.evaluateMap(n)
	case expandNode:
		e.evaluateExpand(n)
	case reduceNode:
		e.evaluateReduce(n)
	case groupNode:
		e.evaluateGroup(n)
		e.tellBucketReaders(n)
		return
	}
	e.tellKeyReaders(n)
}

// staleKeys returns the keys of n whose source or reads changed, in order.
func (e *evaluation) staleKeys(n *node, changedSource func(yield func(string))) []string {
	stale := e.dirty[n.id]
	if stale == nil {
		stale = map[string]struct{}{}
	}
	changedSource(func(key string) { stale[key] = struct{}{} })
	return slices.Sorted(maps.Keys(stale))
}

// sourceChanges yields the keys of what changed in the collection that n is derived from.
func (e *evaluation) sourceChanges(n *node) func(yield func(string)) {
	return func(yield func(string)) {
		for _, c := range e.changes[n.src.stored().id] {
			yield(c.key)
		}
	}
}

// run calls a function of n for key and records what it read. A panic leaves a Fault.
func (e *evaluation) run(n *node, key string, f func(c *Ctx)) (ok bool) {
	c := &Ctx{run: e, node: n, key: key, reads: e.buffer[:0]}
	e.work.Functions[n.name]++
	fault, faulted := protect(n, key, func() { f(c) })
	c.run = nil
	e.buffer = c.reads
	e.remember(n, key, sortReads(c.reads), c.wants)
	e.setFault(n, key, fault, faulted)
	return !faulted
}

// forget drops what is kept of a key of n that has no source any more.
func (e *evaluation) forget(n *node, key string) {
	e.remember(n, key, nil, nil)
	e.setFault(n, key, Fault{}, false)
}

// protect turns a panic of f into a Fault.
func protect(n *node, key string, f func()) (fault Fault, faulted bool) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case misuse:
			panic(cause)
		default:
			fault, faulted = Fault{n.name, key, cause, debug.Stack()}, true
		}
	}()
	f()
	return
}

func (e *evaluation) setFault(n *node, key string, fault Fault, faulted bool) {
	t := &e.next.tables[n.id]
	if faulted {
		t.faults = t.faults.Set(key, fault)
		e.faults = append(e.faults, fault)
	} else {
		t.faults = t.faults.Delete(key)
	}
}
