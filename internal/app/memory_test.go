package app

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// quietLive shows nothing.
type quietLive struct{ observe.Live }

func (quietLive) Ready(observe.Ready) {}

func TestMemoryIsGivenBackOnceEverythingServes(t *testing.T) {
	t.Setenv("GOGC", "") // whatever runs the test set
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	synctest.Test(t, func(t *testing.T) {
		s := newSettling(quietLive{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.settle(ctx) }()
		synctest.Wait()
		if got := debug.SetGCPercent(100); got != 100 {
			t.Errorf("GOGC is %d while loading", got)
		}
		s.Ready(observe.Ready{})
		s.Ready(observe.Ready{}) // again is harmless
		synctest.Wait()
		if got := debug.SetGCPercent(100); got != steadyGC {
			t.Errorf("GOGC is %d once everything serves, want %d", got, steadyGC)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
