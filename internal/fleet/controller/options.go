package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

// Options say which cluster is worked in, and what of it.
type Options struct {
	Config *rest.Config
	// Namespaces are those whose Proxies count; none are all.
	Namespaces []string
	// Namespace has the Lease, and Lease is its name.
	Namespace, Lease string
	// LeaseDuration is how long a leader may be silent before another one takes over; 0
	// is 15 s.
	LeaseDuration time.Duration
	// Rights are needed beyond the controller's own, by providers that live in the cluster.
	Rights []Right
	// Providers are the names of those that are on.
	Providers []string
	// Health names Proxies whose verdict has changed; nil without.
	Health <-chan types.NamespacedName
	// Advertise is where other processes reach this one while it leads, HOST:PORT; empty for
	// nowhere.
	Advertise string
	// Began is closed once all Proxies have been read; nil for nobody.
	Began chan<- struct{}
	// Watch is told of changes, also while another process leads.
	Watch Watch
	Log   *slog.Logger
}

// Watch is told the names of objects that have changed, begun or gone. Its functions
// return soon; nil ones are not called.
type Watch struct{ Proxy, Secret func(types.NamespacedName) }

// Controller is the shell of a fleet over a Kubernetes API.
type Controller struct {
	o       Options
	cluster cluster.Cluster
	objects *objects
	lease   leadership
	leader  atomic.Pointer[string] // its identity
	uid     string
	synced  atomic.Bool // the cache has all Proxies

	outcomes outcomes
}

// Work is what is done with a Proxy, and with the whole fleet, while this process leads.
type Work struct {
	// Reconcile is called for several keys at once, never twice for one.
	Reconcile func(context.Context, types.NamespacedName) (reconcile.Result, error)
	// Beside are run while this process leads; each returns once its context has ended.
	Beside []func(context.Context)
}

// Requests a second, and at once, that are made at most. A thousand new Proxies need
// about three thousand writes.
const (
	requestRate  = 100
	requestBurst = 200
)

// New connects to the cluster and waits until it answers, or ctx ends. An error says in
// one line what is missing: the kind Proxy, or a right.
func New(ctx context.Context, o Options) (*Controller, error) {
	quiet(o.Log)
	o.Config = rest.CopyConfig(o.Config)
	o.Config.ContentType, o.Config.AcceptContentTypes = "", "" // a Proxy has no protobuf
	o.Config.QPS, o.Config.Burst = requestRate, requestBurst
	if o.LeaseDuration == 0 {
		o.LeaseDuration = 15 * time.Second
	}
	c := &Controller{o: o}
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	return c, c.connect(ctx)
}

// connect makes the cache and the clients. It starts nothing.
func (c *Controller) connect(ctx context.Context) (err error) {
	c.cluster, err = cluster.New(c.o.Config, func(co *cluster.Options) {
		co.Scheme, co.Cache, co.Logger = scheme(), c.caches(), logger(c.o.Log)
		co.Client = client.Options{Cache: &client.CacheOptions{DisableFor: uncached}}
	})
	if err != nil {
		return fmt.Errorf("the Kubernetes API cannot be used: %w", err)
	}
	c.objects = &objects{
		cached: c.cluster.GetClient(), live: c.cluster.GetAPIReader(),
		fence: c.lease.check, namespaces: namespaces(c.o.Namespaces),
	}
	return errors.Join(c.index(ctx), c.watch(ctx))
}

// Objects are what the fleet keeps in the cluster.
type Objects interface {
	reconcile.Objects
	// CurrentProxies reads them all past any cache.
	CurrentProxies(ctx context.Context) ([]*egress_v1alpha1.Proxy, error)
}

// Objects are those of the cluster. Writes fail while this process does not lead.
func (c *Controller) Objects() Objects { return c.objects }

// Leads returns nil while this process leads, and is what providers are fenced by.
func (c *Controller) Leads() error { return c.lease.check() }

// namespaces are those to ask for; one that is empty asks for all.
func namespaces(watched []string) []string {
	if len(watched) == 0 {
		return []string{meta_v1.NamespaceAll}
	}
	return watched
}

// Cluster is the label of the cluster's instances: the UID of its namespace kube-system.
func (c *Controller) Cluster() string { return c.uid }

func (c *Controller) caches() cache.Options {
	o := cache.Options{ByObject: byObject, DefaultWatchErrorHandler: c.watchFailed}
	for _, name := range c.o.Namespaces {
		if o.DefaultNamespaces == nil {
			o.DefaultNamespaces = map[string]cache.Config{}
		}
		o.DefaultNamespaces[name] = cache.Config{}
	}
	return o
}
