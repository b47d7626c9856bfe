package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/checkpoint"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/redis"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/roster"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// leases is what of a fleet probes its proxies and leases them.
type leases struct {
	roster *roster.Roster
	// seat has the store: shared for as long as this process lives, else while it leads.
	seat   roster.Seat
	shared *told // with other processes; nil for memory

	closeShared func() error
	// sink has what outlives this process of a store in memory.
	sink checkpoint.Sink
	// leads returns nil while this process may grant leases that it keeps in memory; nil
	// is always.
	leads func() error
	// leader is where the process that leads answers; nil for no other, "" for not known.
	leader func() string
	// emit has a Proxy looked at whose verdict is worth a write.
	emit func(types.NamespacedName) bool
}

// follow makes the roster, which is told of changes from now on.
func (f *fleet) follow(objects roster.Objects, ready <-chan struct{}) {
	f.roster = roster.New(roster.Options{
		Objects: objects, Ready: ready, CheckURL: f.config.Leases.HealthCheckURL, Log: f.io.Log, Now: time.Now,
	})
	f.asked.use(&roster.Uses{Roster: f.roster, Store: &f.seat, Name: f.config.Leases.StoreName(), Serving: f.serving})
	f.metrics.ReadLeases(f.measure)
}

func (f *fleet) runRoster(ctx context.Context) error {
	f.roster.Run(ctx)
	return nil
}

// serving says why this process does not grant leases.
func (f *fleet) serving() error {
	if f.shared == nil && f.leads != nil && f.leads() != nil {
		return discovery.ErrNotLeading
	}
	if err := f.roster.Serving(); err != nil {
		return fmt.Errorf("%w: %w", discovery.ErrStarting, err)
	}
	return nil
}

// sharedPause is between two looks at a store that other processes free proxies in too.
const sharedPause = 250 * time.Millisecond

// openShared connects to a store that the processes of one fleet share. It need not be
// there yet.
func (f *fleet) openShared(ctx context.Context, fleet string) error {
	if f.config.Leases.InMemory() {
		return nil
	}
	store, err := redis.Open(context.WithoutCancel(ctx), f.config.Leases.Store, redis.Options{Fleet: fleet, Log: f.io.Log})
	if err != nil {
		return fmt.Errorf("--lease-store: %w", err)
	}
	f.shared = &told{lease.NewWaiting(store, lease.WaitOptions{Every: sharedPause}), store}
	f.closeShared = store.Close
	f.seat.Take(f.shared.Waiting)
	return nil
}

func (f *fleet) leaveShared(context.Context) error {
	if f.closeShared == nil {
		return nil
	}
	f.seat.Leave()
	return f.closeShared()
}

// told is a store whose waiting requests learn of what it is told.
type told struct {
	*lease.Waiting
	retainer
}

type retainer interface {
	Retain(ctx context.Context, keep func(uid string) bool) error
}

// engine is that of one term: a new one learns the verdicts from the statuses.
func (f *fleet) engine() *health.Engine {
	return health.New(health.Options{
		InFlight: f.config.Leases.ProbesInFlight, Metrics: f.metrics, Log: f.io.Log,
		Emit: func(key string) bool { return f.emit(named(key)) },
	})
}

// named takes "namespace/name" apart.
func named(key string) types.NamespacedName {
	namespace, name, _ := strings.Cut(key, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// serveLeases answers the lease API.
func (f *fleet) serveLeases(ctx context.Context) error {
	if f.leaseListener == nil {
		<-ctx.Done()
		return nil
	}
	f.io.Log.Info("leasing proxies", observe.KeyAddress, url(f.leaseListener))
	return discovery.New(discovery.Options{
		Store: &f.seat, Book: f.roster, Serving: f.serving, Elsewhere: f.elsewhere(), Token: f.config.Leases.Token,
		Metrics: f.metrics, Log: f.io.Log, Now: time.Now,
	}).Serve(ctx, f.leaseListener)
}
