package prover

import (
	"context"
	"errors"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// errDied says that the proving Envoy ended while it was waited for.
var errDied = errors.New("the proving Envoy ended")

// watch is what is known of the proving Envoy: told from outside, asked by trials.
type watch struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced when something changes
	now     condition
}

// condition is what is known at a moment.
type condition struct {
	proxy   string // the node that is connected; empty when none is
	settled uint64 // what it has answered in full
	deaths  int    // processes that ended unasked
	vain    int    // those of them that have not connected, one after the other
	why     error  // the last of them did
	doubted bool   // it did not answer in time, and is being looked at
}

func newWatch() *watch { return &watch{changed: make(chan struct{})} }

// tell changes what is known.
func (w *watch) tell(change func(*condition)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.now)
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *watch) look() (condition, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now, w.changed
}

// until waits until done says so, or ctx ends.
func (w *watch) until(ctx context.Context, done func(condition) (bool, error)) error {
	for {
		now, changed := w.look()
		if ok, err := done(now); ok || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answered takes one event of the stream.
func (c *condition) answered(e xdsserve.Event) {
	switch current := e.Proxy == c.proxy; {
	case e.Kind == xdsserve.Connected:
		c.proxy, c.settled, c.vain = e.Proxy, 0, 0
	case e.Kind == xdsserve.Disconnected && current:
		c.proxy, c.settled = "", 0
	case e.Kind == xdsserve.Settled && current:
		c.settled = e.Seq
	}
}
