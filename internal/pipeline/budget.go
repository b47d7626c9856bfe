package pipeline

import (
	"sync"
	"time"
)

// A namespace has so many trials of proposals at once, and so many more each second:
// whoever floods the API with changes waits, and nobody else.
const (
	budgetBurst  = 1000
	budgetPerSec = 100
	// manyBudgets is how many namespaces are remembered before those that have spent
	// nothing lately are forgotten.
	manyBudgets = 4096
)

// budget counts the trials of each namespace; objects without one share the empty one.
type budget struct {
	mu    sync.Mutex
	spent map[string]spending
}

// spending is how much is spent of a full budget at a time.
type spending struct {
	trials float64
	at     time.Time
}

// allows returns how long a namespace has to wait for its next trial.
func (b *budget) allows(namespace string, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	over := b.spent[namespace].left(now) + 1 - budgetBurst
	if over <= 0 {
		return 0
	}
	return time.Duration(over / budgetPerSec * float64(time.Second))
}

// spend takes trials out of a budget, more than there are if need be.
func (b *budget) spend(namespace string, trials int, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent == nil {
		b.spent = map[string]spending{}
	}
	if len(b.spent) >= manyBudgets {
		for name, s := range b.spent {
			if s.left(now) == 0 {
				delete(b.spent, name)
			}
		}
	}
	b.spent[namespace] = spending{b.spent[namespace].left(now) + float64(trials), now}
}

// left is what is still spent at a later time.
func (s spending) left(now time.Time) float64 {
	return max(0, s.trials-now.Sub(s.at).Seconds()*budgetPerSec)
}
