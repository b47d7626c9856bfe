package pipeline

import (
	"context"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// published is one consistent answer of the loop: immutable.
type published struct {
	observed store.View
	state    derive.State
	rejected map[store.Key]acceptance.Rejection
	faults   map[store.Key][]derive.Fault // functions that failed, by each object they saw
	at       time.Time
	decided  bool // something was accepted, if only that there is nothing
	// expired are objects of which no earlier revision may serve any longer.
	expired map[store.Key]bool
	// check is that of a round now; nil is that of the Graph.
	check func(derive.Result) []acceptance.Refusal
}

// publish lets readers see a value, and wakes those who wait for one.
func (b *board) publish(at *published) {
	b.current.Store(at)
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}

// after waits for a value that is published after another; false is that ctx ended first.
func (b *board) after(ctx context.Context, at *published) (*published, bool) {
	for {
		b.mu.RLock()
		next := b.next
		b.mu.RUnlock()
		if now := b.current.Load(); now != at {
			return now, true
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil, false
		}
	}
}
