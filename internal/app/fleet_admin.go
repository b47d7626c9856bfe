package app

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/admin/fleetapi"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

// asked is what the admin API asks, which answers before there is any of it.
type asked struct {
	shell atomic.Pointer[explain.Shell]
	uses  atomic.Pointer[explain.Uses]
}

var errStarting = errors.New("the fleet is starting")

func (a *asked) set(shell explain.Shell) { a.shell.Store(&shell) }

// Fleet implements [explain.Shell].
func (a *asked) Fleet(ctx context.Context) (explain.Fleet, error) {
	if shell := a.shell.Load(); shell != nil {
		return (*shell).Fleet(ctx)
	}
	return explain.Fleet{}, errStarting
}

// Ready implements [explain.Shell].
func (a *asked) Ready() error {
	if shell := a.shell.Load(); shell != nil {
		return (*shell).Ready()
	}
	return errStarting
}

// use tells of who knows how Proxies are probed and leased.
func (a *asked) use(uses explain.Uses) { a.uses.Store(&uses) }

// Fill implements [explain.Uses].
func (a *asked) Fill(ctx context.Context, proxies []explain.Known) explain.Leasing {
	if uses := a.uses.Load(); uses != nil {
		return (*uses).Fill(ctx, proxies)
	}
	return explain.Leasing{}
}

func (f *fleet) serveAdmin(ctx context.Context) error {
	return admin.Serve(ctx, f.adminListener, fleetapi.Handler(fleetapi.Options{Shell: &f.asked, Uses: &f.asked, Requests: f.leaseRequests, Now: time.Now}))
}

// leaseRequests are those that the metrics have counted.
func (f *fleet) leaseRequests() (r explain.Requests) {
	r.Granted, r.Refused, r.Failed = f.metrics.LeaseRequests()
	return r
}
