package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// load sends requests at a fixed rate, whatever the answers do, and judges each.
type load struct {
	intents  *intents
	requests []probeRequest
	rate     int

	mu     sync.Mutex
	sent   int
	faults []string
}

// probeRequest is a request and the key of what it should meet.
type probeRequest struct {
	rig.Request
	key string
}

// maxFaults is how many faults are kept in words; all are counted.
const maxFaults = 20

// run sends until ctx ends, and waits for the last answer.
func (l *load) run(ctx context.Context) {
	clients := make([]*rig.Client, len(l.requests))
	for i, r := range l.requests {
		clients[i] = rig.NewClient(r.Request)
		defer clients[i].Close()
	}
	var open sync.WaitGroup
	defer open.Wait()
	tick := time.NewTicker(time.Second / time.Duration(l.rate))
	defer tick.Stop()
	for k := 0; ; k++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			i := k % len(l.requests)
			open.Go(func() { l.one(context.WithoutCancel(ctx), clients[i], l.requests[i]) })
		}
	}
}

func (l *load) one(ctx context.Context, client *rig.Client, r probeRequest) {
	before := l.intents.now(r.key)
	got, err := client.Do(ctx, r.Request)
	fault := judge(got, err, before, l.intents.now(r.key))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	if fault != nil {
		l.faults = append(l.faults, fmt.Sprintf("%s %s%s: %v", time.Now().Format("15:04:05.000"), r.Host, r.Path, fault))
	}
}

// result is how many requests were sent, and what went wrong.
func (l *load) result() (sent int, faults []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent, l.faults
}
