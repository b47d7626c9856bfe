package derive

import (
	"iter"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// State is every collection of a Graph evaluated over one View. It is immutable
// and shares structure with the States it came from. The zero State is the
// evaluation of the empty View.
type State struct{}

// View returns what the State was evaluated over.
func (s State) View() store.View { panic("todo") }

// Result is what one Eval produced.
type Result struct {
	State State
	Delta Delta
	// Wants are on-demand values that functions asked for and that are not in the View yet.
	Wants []store.Key
	// Faults are functions that panicked; each leaves its key without a value.
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
	Members   int            // bucket members visited
	Bytes     int            // by BytesFunc
}

// Delta is what changed in the collections of a Graph from one State to another.
type Delta struct{}

// Eval evaluates g over view, starting from any earlier State of g.
func (g *Graph) Eval(from State, view store.View) Result { panic("todo") }

// Change is one difference in a collection; Had and Has tell whether Old and New exist.
type Change[V any] struct {
	Key      string
	Old, New V
	Had, Has bool
}

// Changes yields what changed in one collection, in key order.
func Changes[V any](d Delta, of Collection[V]) iter.Seq[Change[V]] { panic("todo") }

// Lookup returns a value of a State.
func Lookup[V any](s State, in Collection[V], key string) (V, bool) { panic("todo") }

// Items yields all values of a collection of a State in key order.
func Items[V any](s State, in Collection[V]) iter.Seq2[string, V] { panic("todo") }

// Bucket yields the members of a bucket of a State in key order.
func Bucket[V any](s State, in Index[V], bucket string) iter.Seq2[string, V] { panic("todo") }
