package app

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/metrics"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/version"
	"github.com/gatehouse-proxy/gatehouse/pkg/runner"
)

// fleet is one that runs: the settings and the parts.
type fleet struct {
	config    config.Fleet
	io        IO
	providers map[string]provider.Provider // once the shell knows its cluster
	requests  provider.RequestRecorder     // of their calls; nil without
	fence     func() error                 // refuses creates and deletes; nil without
	metrics   *metrics.Metrics
	list      atomic.Pointer[metrics.List] // of the shell

	leases

	adminListener, metricsListener net.Listener
	leaseListener                  net.Listener // nil without a lease API
	// asked is what the admin API answers from; the shell sets it.
	asked asked
}

// Fleet brings Proxies to what they want until ctx ends. Their instances stay.
func Fleet(ctx context.Context, c config.Fleet, io IO) error {
	f := &fleet{config: c, io: io}
	f.metrics = metrics.New(f.proxies, time.Now)
	f.requests = f.metrics
	return runner.Run(ctx, runner.Options{StopTimeout: fleetStopTimeout}, f.components()...)
}

// fleetStopTimeout is enough for the calls to providers that are under way.
const fleetStopTimeout = 30 * time.Second

// components are started in this order and stopped in reverse.
func (f *fleet) components() []runner.Component {
	before := []runner.Component{
		// before anything slow, so that a port in use is told at once
		{Name: "addresses", Start: f.listen},
		{Name: "admin", Run: f.serveAdmin},
		{Name: "metrics", Run: f.serveMetrics},
	}
	return slices.Concat(before, f.shell(), f.superProxy())
}

// shell is where Proxies come from and what calls the core for them.
func (f *fleet) shell() []runner.Component {
	if f.config.InCluster() {
		return f.clusterShell()
	}
	return f.filesShell()
}

// listen opens the admin and the metrics address.
func (f *fleet) listen(ctx context.Context) (err error) {
	if f.adminListener, err = listen(ctx, "--admin-address", f.config.AdminAddress); err != nil {
		return err
	}
	if f.metricsListener, err = listen(ctx, "--metrics-address", f.config.MetricsAddress); err != nil {
		_ = f.adminListener.Close()
		return err
	}
	if address := f.config.Leases.Address; address != "" {
		if f.leaseListener, err = listen(ctx, "--lease-address", address); err != nil {
			_, _ = f.adminListener.Close(), f.metricsListener.Close()
			return err
		}
	}
	f.io.Log.Info("fleet starts", observe.KeyVersion, version.Number, observe.KeyAddress, url(f.adminListener), observe.KeyMetrics, url(f.metricsListener))
	return nil
}
