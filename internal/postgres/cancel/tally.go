package cancel

import (
	"iter"
	"sync"
)

// Outcome is what became of a cancel: a closed set, usable as a label of a metric.
type Outcome string

// Outcomes of cancels that clients ask for, and of those that the router sends on its own.
const (
	Known      Outcome = "known"      // a session here: every server that gave the key has acted
	Peer       Outcome = "peer"       // a session of another replica, whose server has acted
	Unknown    Outcome = "unknown"    // nobody knows the key
	Limited    Outcome = "limited"    // too many; nobody was asked
	Failed     Outcome = "failed"     // the key is known, but its server did not take the cancel
	Unroutable Outcome = "unroutable" // in clear, while sessions pass through whose keys nobody can learn
	Vanished   Outcome = "vanished"   // sent because the client of a busy session had gone
	Cut        Outcome = "cut"        // sent because the router had to cut a busy session
)

// Outcomes are all of them.
func Outcomes() []Outcome {
	return []Outcome{Known, Peer, Unknown, Limited, Failed, Unroutable, Vanished, Cut}
}

// Tally counts things of a closed set. Its methods may be called from several goroutines.
type Tally[O ~string] struct {
	kinds []O

	mu     sync.Mutex
	counts map[O]uint64
}

// NewTally returns a Tally of these kinds, none of which has been seen.
func NewTally[O ~string](kinds []O) *Tally[O] {
	return &Tally[O]{kinds: kinds, counts: make(map[O]uint64, len(kinds))}
}

// Add counts one.
func (t *Tally[O]) Add(o O) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[o]++
}

// Count is how many of a kind were counted.
func (t *Tally[O]) Count(o O) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[o]
}

// All are the kinds in their order with their counts, those that are 0 too.
func (t *Tally[O]) All() iter.Seq2[O, uint64] {
	return func(yield func(O, uint64) bool) {
		for _, o := range t.kinds {
			if !yield(o, t.Count(o)) {
				return
			}
		}
	}
}
