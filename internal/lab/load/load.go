// Package load sends HTTP requests to a proxy at a fixed rate, whatever happens to
// them, and records how each of them ended.
//
// The load is open: request n is due n/Rate after the first one even if all before it
// hang, as the users of a site do not wait for each other. Latency counts from when a
// request was due. So a proxy that stalls for a second shows a second of slow requests,
// not one slow request (coordinated omission), and a generator that is late itself
// charges that to the latency and says so ([lab.Requests].Lateness).
//
// Most requests use connections that were kept, in turn, for these show what old
// workers still believe; every few go over a connection of their own, as new clients
// do. No request is ever sent twice. net/http's Transport sends a GET again when the
// kept connection that it chose turns out to be closed, and would hide what this
// package is here to count; hence the connections are its own, and only the parser of
// answers is net/http's. A connection that was closed while nobody used it is noticed
// before it is used, as every careful client does; what remains is the request that
// meets the closing of its connection, and that is a [lab.Reset].
//
// [Run] is the owner of all goroutines and connections, and leaves none.
package load

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Run sends Rate times Length requests to Address, the first one due at moment 0 of the
// Clock and the last before Length, and returns them in order of Due, each with its
// outcome. It is called when the run begins; what is due already is sent at once, late. It returns once the last one has ended: at
// most Timeout after it was due.
//
// An error says which option is out of bounds. When ctx ends, Run closes all connections
// and returns at once: the requests that had ended, and the cause. Those in flight then
// have no outcome, and are left out.
func Run(ctx context.Context, options Options) ([]lab.Request, error) {
	o, err := options.complete()
	if err != nil {
		return nil, err
	}
	client := newClient(o)
	stop := context.AfterFunc(ctx, client.pool.close)
	requests := o.schedule()
	client.send(ctx, requests)
	stop()
	client.pool.close()
	if ctx.Err() != nil {
		ended := slices.DeleteFunc(requests, func(r lab.Request) bool { return r.Outcome == "" })
		return ended, context.Cause(ctx)
	}
	return requests, nil
}

// schedule returns all requests, due from the start of the run on.
func (o Options) schedule() []lab.Request {
	requests := make([]lab.Request, lab.Due(o.Rate, o.Length))
	for n := range requests {
		requests[n].ID = uint64(n + 1)
		requests[n].Due = lab.Moment(n) * lab.Moment(time.Second) / lab.Moment(o.Rate)
	}
	return requests
}

// send starts each request when it is due, and waits for all of them.
func (c *client) send(ctx context.Context, requests []lab.Request) {
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	places := make(chan struct{}, c.MaxInFlight)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := range requests {
		r := &requests[n]
		if !c.waitUntil(ctx, timer, r.Due) {
			return
		}
		select {
		case places <- struct{}{}:
			inFlight.Go(func() {
				c.ask(ctx, r)
				<-places
			})
		default:
			r.Outcome, r.Done = lab.Unsent, c.Clock()
		}
	}
}

// waitUntil returns at due, or at once if that is over; false when ctx has ended. It
// sleeps: timers are about a millisecond exact, and a processor that spins here is
// missing where the proxies are measured.
func (c *client) waitUntil(ctx context.Context, timer *time.Timer, due lab.Moment) bool {
	for {
		early := due - c.Clock()
		if early <= 0 {
			return ctx.Err() == nil
		}
		timer.Reset(time.Duration(early))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
	}
}
