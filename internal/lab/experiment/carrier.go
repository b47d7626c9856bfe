package experiment

import (
	"context"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// updateTimeout bounds how long a proxy may take to be handed a change.
const updateTimeout = 10 * time.Second

// carrier tells a proxy what changed, as its operators do: of every change at once, or
// of all so far when it reloads. While one hand-over takes its time, later changes
// gather; the newest set goes next.
type carrier struct {
	plan    Plan
	proxy   proxy.Proxy
	record  *record
	changed chan struct{}
	reload  chan struct{}
	updates int
	handed  []proxy.Backend // the last time
}

func newCarrier(plan Plan, p proxy.Proxy, r *record) *carrier {
	return &carrier{plan: plan, proxy: p, record: r, changed: make(chan struct{}, 1), reload: make(chan struct{}, 1)}
}

// tell says that a change of the truth is known to whatever tells the proxy.
func (c *carrier) tell(e lab.Event, there bool) {
	c.record.tell(e, there)
	poke(c.changed)
}

// reloadNow is a reload step of the script.
func (c *carrier) reloadNow() { poke(c.reload) }

// run hands changes over until ctx ends.
//
//  1. A change goes to a proxy that streams at once.
//  2. A change lets a proxy that reloads on changes wait for the batch and the interval
//     of the policy; changes meanwhile are part of the same reload.
//  3. A reload step, or the end of that wait, goes to a proxy that reloads.
func (c *carrier) run(ctx context.Context) error {
	var due <-chan time.Time
	var last lab.Moment
	handOver := func() error {
		due, last = nil, c.record.clock()
		return c.handOver(ctx)
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-c.changed:
			switch {
			case c.plan.Model != lab.ModelReload:
				err = c.stream(ctx)
			case c.plan.Timeline.Reload.OnChange && due == nil:
				due = time.After(c.wait(last))
			}
		case <-due:
			err = handOver()
		case <-c.reload:
			if c.plan.Model == lab.ModelReload {
				err = handOver()
			}
		}
		if err != nil {
			return err
		}
	}
}

// stream hands over what differs from what was handed over last: changes that came
// while that was on its way may be part of it.
func (c *carrier) stream(ctx context.Context) error {
	if slices.Equal(c.record.toTell(), c.handed) {
		return nil
	}
	return c.handOver(ctx)
}

// wait returns how long a change that is known now waits for its reload.
func (c *carrier) wait(last lab.Moment) time.Duration {
	policy, now := c.plan.Timeline.Reload, c.record.clock()
	at := now + policy.Batch
	if c.updates > 0 {
		at = max(at, last+policy.Interval)
	}
	return time.Duration(at - now)
}

// handOver tells the proxy of all backends that are known now. One that the end of the
// run interrupts is no failure.
func (c *carrier) handOver(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	c.updates++
	c.handed = c.record.handOver()
	err := c.proxy.Update(limited, c.handed)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
