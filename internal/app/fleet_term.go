package app

import (
	"context"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/checkpoint"
)

// leasesFile is the checkpoint in a state directory, leasesSecret that in a cluster.
const (
	leasesFile   = "leases.checkpoint"
	leasesSecret = "gatehouse-fleet-leases" //nolint:gosec // its name
)

// lead probes, and tells the store, until ctx ends: a term of a leader, or the life of
// this process.
func (f *fleet) lead(ctx context.Context) {
	defer f.metrics.ProbesEnded()
	if f.shared != nil {
		f.roster.Lead(ctx, f.shared, f.engine())
		return
	}
	memory := lease.NewMemory(lease.Options{Now: time.Now, Policy: f.config.Leases.Policy})
	kept := checkpoint.Options{Source: memory, Sink: f.sink, Log: f.io.Log}
	if checkpoint.Restore(ctx, kept) != nil {
		return
	}
	store := &told{lease.NewWaiting(memory, lease.WaitOptions{}), memory}
	saving, save := context.WithCancel(context.WithoutCancel(ctx))
	var writes sync.WaitGroup
	writes.Go(func() { checkpoint.Run(saving, kept) })
	f.seat.Take(store.Waiting)
	f.roster.Lead(ctx, store, f.engine())
	f.seat.Leave() // nobody changes what is written last
	save()
	writes.Wait()
}
