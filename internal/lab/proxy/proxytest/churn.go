package proxytest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// churn updates a proxy as fast as it takes updates, while clients send requests: dead
// backends come and go, so that requests to them are under way when they are removed.
func churn(t *testing.T, d proxy.Description) {
	updates := 100
	if d.Model == lab.ModelReload {
		updates = 30 // each starts processes, and leaves some that finish their requests
	}
	l := Start(t, d, Options(t, d))
	live, dead := Backends(1, 2), Backends(11, 12, 13, 14, 15, 16, 17)
	l.Run(live...)
	l.Run(dead...)
	for _, b := range dead {
		l.Kill(b)
	}
	l.Tell(live...)
	l.Believes(live...)
	answered, stop := l.traffic()
	defer stop()
	for n := range updates {
		told := live
		if n%2 == 0 {
			told = append(slices.Clone(live), dead[n/2%len(dead)])
		}
		l.Tell(told...)
	}
	l.Believes(live...)
	l.Reaches(live...)
	stop()

	got, err := l.Belief(t.Context())
	must(t, errors.Join(err, l.Ended()))
	if want := addresses(live); !slices.Equal(got.All, want) || !slices.Equal(got.Some, want) {
		t.Errorf("it believes in all %v, some %v at the end; want %v", got.All, got.Some, want)
	}
	if answered.Load() == 0 {
		t.Error("no request was answered meanwhile")
	}
}

// traffic sends requests from several clients until it is stopped, which lets the last
// ones end.
func (l *Leg) traffic() (answered *atomic.Int64, stop func()) {
	const clients = 32
	answered = new(atomic.Int64)
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	var enough atomic.Bool
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for ctx.Err() == nil && !enough.Load() {
				if a, err := l.Ask(ctx); err == nil && a.Backend != "" {
					answered.Add(1)
				}
			}
		})
	}
	return answered, func() {
		enough.Store(true)
		running.Wait()
		cancel()
	}
}
