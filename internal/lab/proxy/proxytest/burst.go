package proxytest

import (
	"context"
	"sync"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// Burst sends many requests at once while the backends change, and wants each of those
// that were answered in the proxy's own log.
func Burst(t *testing.T, d proxy.Description) {
	t.Helper()
	l := Start(t, d, Options(t, d))
	one, two := Backend(1), Backend(2)
	l.Run(one, two)
	l.Tell(one, two)
	l.Believes(one, two)
	answered := l.askAtOnce(func() {
		l.Tell(one)
		l.Believes(one)
		l.Tell(one, two)
		l.Believes(one, two)
	})

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tries, err := l.Attempts(ctx)
	must(t, err)
	lost := 0
	for _, a := range answered {
		if tries[a.ID] == 0 {
			lost++
		}
	}
	if lost > 0 || len(answered) == 0 {
		t.Errorf("%d of %d answered requests are not in its log", lost, len(answered))
	}
}

// askAtOnce sends requests from many clients, beside what is done meanwhile.
func (l *Leg) askAtOnce(meanwhile func()) (answered []Answer) {
	const clients, each = 64, 50
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	var mu sync.Mutex
	var running sync.WaitGroup
	defer running.Wait()
	for range clients {
		running.Go(func() {
			for range each {
				if a, err := l.Ask(ctx); err == nil && a.Backend != "" {
					mu.Lock()
					answered = append(answered, a)
					mu.Unlock()
				}
			}
		})
	}
	meanwhile()
	running.Wait()
	return answered
}
