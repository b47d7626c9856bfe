package xds

import (
	"sync"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// queue takes events from any goroutine without blocking it, and hands them to one.
type queue struct {
	signal chan struct{} // holds at most one signal
	mu     sync.Mutex
	events []xdsserve.Event
}

func newQueue() *queue { return &queue{signal: make(chan struct{}, 1)} }

func (q *queue) put(e xdsserve.Event) {
	q.mu.Lock()
	q.events = append(q.events, e)
	q.mu.Unlock()
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

func (q *queue) take() []xdsserve.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := q.events
	q.events = nil
	return events
}
