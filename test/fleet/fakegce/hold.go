package fakegce

import (
	"context"
	"slices"
)

// hold is a call that waits.
type hold struct {
	Held
	fault int
	gone  chan struct{}
}

// Held is a call that waits to be released.
type Held struct {
	Call Call
	// Where is Before or After.
	Where string
}

// hold waits for the release; false if the client does not wait so long.
func (c *Cloud) hold(ctx context.Context, fault int, where string, call Call) bool {
	h := &hold{Held: Held{call, where}, fault: fault, gone: make(chan struct{})}
	c.mu.Lock()
	c.held = append(c.held, h)
	c.changed()
	c.mu.Unlock()
	defer c.letGo(h)
	select {
	case <-h.gone:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *Cloud) letGo(h *hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = slices.DeleteFunc(c.held, func(x *hold) bool { return x == h })
	c.changed()
}

// changed wakes who waits for a hold. The lock is held.
func (c *Cloud) changed() {
	close(c.heldChanged)
	c.heldChanged = make(chan struct{})
}

// WaitHeld waits until a call is held.
func (c *Cloud) WaitHeld(ctx context.Context) (Held, error) {
	for {
		c.mu.Lock()
		changed := c.heldChanged
		if len(c.held) > 0 {
			defer c.mu.Unlock()
			return c.held[0].Held, nil
		}
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return Held{}, context.Cause(ctx)
		}
	}
}

// WaitFree waits until no call is held.
func (c *Cloud) WaitFree(ctx context.Context) error {
	for {
		c.mu.Lock()
		changed, free := c.heldChanged, len(c.held) == 0
		c.mu.Unlock()
		if free {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// release lets go of the calls that a fault holds.
func (c *Cloud) release(fault int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.held {
		if h.fault == fault {
			close(h.gone)
			h.fault = 0
		}
	}
}
