package app

import (
	"context"
	"os"
	"runtime/debug"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// steadyGC is GOGC once everything is loaded. What is loaded stays, and a change
// allocates little beside it: with 100, the default, memory is twice what is held,
// to save a collection for some hundred changes.
const steadyGC = 50

// settling is a Live that notes when everything serves.
type settling struct {
	observe.Live
	once sync.Once
	done chan struct{}
}

func newSettling(live observe.Live) *settling {
	return &settling{Live: live, done: make(chan struct{})}
}

// Ready is called once everything serves.
func (s *settling) Ready(r observe.Ready) {
	s.Live.Ready(r)
	s.once.Do(func() { close(s.done) })
}

// settle gives back the memory that loading took, once that is over. Meanwhile,
// when much is garbage, collecting is left as it is.
func (s *settling) settle(ctx context.Context) error {
	select {
	case <-s.done:
	case <-ctx.Done():
		return nil
	}
	if os.Getenv("GOGC") == "" { // else whoever set it knows better
		debug.SetGCPercent(steadyGC)
	}
	debug.FreeOSMemory()
	<-ctx.Done()
	return nil
}
