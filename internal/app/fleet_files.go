package app

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/checkpoint"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/standalone"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/standalone/state"
	"github.com/gatehouse-proxy/gatehouse/pkg/runner"
)

// filesShell takes Proxies from a directory.
func (f *fleet) filesShell() []runner.Component {
	var store *state.Store
	var shell *standalone.Fleet
	return []runner.Component{
		// before everything that reads it; held until nothing does any more
		{Name: "state directory", Start: func(ctx context.Context) (err error) {
			store, err = state.Open(ctx, f.config.StateDir, time.Now)
			return err
		}, Stop: func(context.Context) error { return store.Close() }},
		{Name: "providers", Start: func(ctx context.Context) error { return f.makeProviders(ctx, store.Cluster()) }},
		{Name: "lease store", Start: func(ctx context.Context) error { return f.openShared(ctx, store.Cluster()) }, Stop: f.leaveShared},
		{Name: "documents", Start: func(context.Context) (err error) {
			if shell, err = f.standalone(store); err == nil {
				f.asked.set(shell)
			}
			return err
		}, Run: func(ctx context.Context) error { return shell.Run(ctx) }},
		{Name: "roster", Run: f.runRoster},
		{Name: "leases", Run: func(ctx context.Context) error { f.lead(ctx); return nil }},
		// before what it answers from ends
		{Name: "lease API", Run: f.serveLeases},
		// after the documents: what they define owns its instance
		{Name: "sweeps", Run: func(ctx context.Context) error {
			f.sweeper(store, store.Cluster()).Run(ctx)
			return nil
		}},
	}
}

func (f *fleet) standalone(store *state.Store) (*standalone.Fleet, error) {
	dir, err := filepath.Abs(f.config.Config)
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", f.config.Config, err)
	}
	objects, began := standalone.NewObjects(store), make(chan struct{})
	f.follow(objects, began)
	objects.Watch(f.roster.Touch, f.roster.SecretChanged)
	core := f.reconciler(objects, store.Cluster())
	shell := standalone.New(standalone.Options{
		Dir: dir, Objects: objects, Reconcile: core.Reconcile, Providers: f.config.Providers,
		AllowMassDelete: f.config.AllowMassDelete, Began: began, Log: f.io.Log, Now: time.Now,
	})
	f.sink = checkpoint.File(filepath.Join(f.config.StateDir, leasesFile))
	f.emit = func(key types.NamespacedName) bool { shell.Enqueue(key); return true }
	return shell, nil
}
