package app

import (
	"context"
	"io"
	"net/http"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/cloudinit"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/gc"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/metrics"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/narrate"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

// reconciler is the core over a store of objects, whose writes are counted.
func (f *fleet) reconciler(objects reconcile.Objects, cluster string) *reconcile.Reconciler {
	f.list.Store(new(metrics.List(objects.Proxies)))
	return &reconcile.Reconciler{
		Objects: narrate.Objects(f.metrics.Objects(objects), f.io.Log), Providers: f.providers, Cluster: cluster, MaxUnavailable: f.config.MaxUnavailable,
		Health: f.roster, Leases: f.roster,
		Forward: cloudinit.Forward{URL: f.config.Forward.URL, SHA256: f.config.Forward.SHA256}, Now: time.Now,
	}
}

// sweeper looks for instances that nobody owns. It runs only where nobody else does.
func (f *fleet) sweeper(objects gc.Objects, cluster string) *gc.Sweeper {
	c := f.config.GC
	return &gc.Sweeper{
		Cluster: cluster, MinAge: c.MinAge, Objects: objects, Providers: f.providers, Interval: c.Interval,
		DryRun: c.DryRun, Namespaced: len(f.config.Kubernetes.Namespaces) > 0, AllowNamespaced: c.AllowNamespaced,
		Now: time.Now, Log: f.io.Log, Recorder: f.metrics,
	}
}

// proxies are those that the metrics count.
func (f *fleet) proxies(ctx context.Context) ([]*egress_v1alpha1.Proxy, error) {
	if list := f.list.Load(); list != nil {
		return (*list)(ctx)
	}
	return nil, errStarting
}

// serveMetrics answers Prometheus and, in a cluster, the kubelet: neither is local.
func (f *fleet) serveMetrics(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.Handle("/", f.metrics.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := f.asked.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	return admin.Serve(ctx, f.metricsListener, mux)
}
