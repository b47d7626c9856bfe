package kube

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube/index"
)

// Options say where servers are found.
type Options struct {
	// Config is how the API is reached; kubeapi.Connection makes one.
	Config *rest.Config
	// Namespaces are those whose Services count; none are all. Each costs two watches.
	Namespaces []string
	index.Options
	Log *slog.Logger
}

// Discovery is a [discovery.Resolver] of what a cluster serves. Make it with New.
type Discovery struct {
	*index.Index
	client  *client
	state   state
	watches []*namespaceWatch
	fetches workqueue.TypedRateLimitingInterface[types.NamespacedName]
	gone    *leavers
	reports *reporter
	known   chan struct{} // closed once all is
}

// New returns a discovery that Run starts; it asks the API for nothing yet.
func New(o Options) (*Discovery, error) {
	c, err := newClient(o.Config)
	if err != nil {
		return nil, err
	}
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{""}
	}
	d := &Discovery{
		Index: index.New(o.Options), client: c, state: state{log: o.Log}, known: make(chan struct{}),
		fetches: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetry, lastRetry)),
	}
	d.gone = &leavers{serves: d.Serves, wake: make(chan struct{}, 1)}
	d.reports = &reporter{
		problems: d.ProblemsOf, write: c.writeEvent, log: o.Log, wake: make(chan struct{}, 1),
		changed: map[types.NamespacedName]bool{}, told: map[types.NamespacedName][]index.Problem{},
	}
	for _, namespace := range o.Namespaces {
		d.watches = append(d.watches, d.newWatch(namespace))
	}
	return d, nil
}

// Waiting says what keeps the router from being ready, for example "the first list of
// Services: connection refused"; "" for nothing. It may be called at any time.
func (d *Discovery) Waiting() string { return d.state.waiting() }

// APIUnavailable is a reason beside those of Services: the API does not answer.
const APIUnavailable = "APIUnavailable"

// ProblemCounts returns how many problems there are of each reason.
func (d *Discovery) ProblemCounts() map[string]int {
	out := map[string]int{}
	for _, p := range d.Problems() {
		out[string(p.Reason)]++
	}
	if d.state.isAway() {
		out[APIUnavailable] = 1
	}
	return out
}

// Run watches until ctx ends. It may be called once. It tells gone, unless that is nil,
// each target at which sessions must not stay any more, one after the other; gone may not
// wait for long.
func (d *Discovery) Run(ctx context.Context, gone func(discovery.Target)) {
	d.gone.tell = gone
	var all sync.WaitGroup
	for _, w := range d.watches {
		all.Go(func() { w.run(ctx) })
	}
	all.Go(func() { d.gone.run(ctx) })
	all.Go(func() { d.fetch(ctx) })
	all.Go(func() { d.reports.run(ctx, d.known) })
	<-ctx.Done()
	d.fetches.ShutDown()
	all.Wait()
}

// apply does what a change means for others. Slices that the first list of them brings
// are not fetched.
func (d *Discovery) apply(e index.Effects, listed *feedState) {
	d.tell(e)
	if listed.begun() {
		for _, service := range e.Fetch {
			d.fetches.Add(service)
		}
	}
}

func (d *Discovery) tell(e index.Effects) {
	d.gone.add(e.Gone)
	d.reports.changes(e.Told)
}

func (d *Discovery) listed(f *feedState) {
	if f.done() {
		d.Synced()
		close(d.known)
		d.state.log.Info("the cluster's servers are known", observe.KeyTotal, len(slices.Collect(d.All())))
	}
}
