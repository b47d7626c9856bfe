package controller

import (
	"context"
	"errors"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// Run stands for the Lease and works whenever this process has it, until ctx ends. It
// returns when nothing is under way any more.
func (c *Controller) Run(ctx context.Context, w Work) error {
	lock, err := c.lock()
	if err != nil {
		return err
	}
	caching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var caches sync.WaitGroup
	caches.Go(func() { _ = c.cluster.Start(caching) }) // ends with its context alone
	caches.Go(func() {
		if c.cluster.GetCache().WaitForCacheSync(caching) {
			c.synced.Store(true)
			if c.o.Began != nil {
				close(c.o.Began)
			}
		}
	})
	defer func() { stop(); caches.Wait() }()
	var failed error
	for ctx.Err() == nil && failed == nil {
		err := c.term(ctx, lock, func(term context.Context) { failed = c.lead(term, w) })
		failed = errors.Join(failed, err)
	}
	return failed
}

// lead works until its context ends.
func (c *Controller) lead(ctx context.Context, w Work) error {
	c.o.Log.Info("leading", observe.KeyNamespace, c.o.Namespace, observe.KeyLease, c.o.Lease)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var beside sync.WaitGroup
	for _, f := range w.Beside {
		beside.Go(func() { f(ctx) })
	}
	err := c.work(ctx, w)
	if ctx.Err() != nil {
		err = nil // what has not begun by the end of a term says so as a failure
	}
	stop()
	beside.Wait()
	c.outcomes.clear()
	c.o.Log.Info("leading no more", observe.KeyLease, c.o.Lease)
	return err
}
