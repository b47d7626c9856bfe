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

// asked is the shell that the admin API asks, which answers before there is one.
type asked struct{ shell atomic.Pointer[explain.Shell] }

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

func (f *fleet) serveAdmin(ctx context.Context) error {
	return admin.Serve(ctx, f.adminListener, fleetapi.Handler(&f.asked, time.Now))
}
