package kube

import (
	"context"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
)

// settle is how long an endpoint must be gone before its sessions are ended: one that is
// moved to another slice leaves the first before it enters the second.
const settle = 100 * time.Millisecond

// leavers are targets that left, until they are told to whoever ends their sessions.
type leavers struct {
	serves func(discovery.Target) bool
	tell   func(discovery.Target)
	wake   chan struct{}

	mu   sync.Mutex
	left []discovery.Target
}

func (l *leavers) add(targets []discovery.Target) {
	if len(targets) == 0 || l.tell == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = append(l.left, targets...)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *leavers) take() []discovery.Target {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.left
	l.left = nil
	return taken
}

// run tells of those that are not back, until ctx ends.
func (l *leavers) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		taken := l.take()
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
		}
		for _, target := range taken {
			if !l.serves(target) {
				l.tell(target)
			}
		}
	}
}
