package pipeline

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/infra/host"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/status"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/coalesce"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Infrastructure runs proxies.
type Infrastructure interface {
	// Ensure makes the running proxies those of the Gateways; it does not wait.
	Ensure([]model.Gateway)
	// WarmingListeners asks a Gateway's proxy how many listeners wait for what they need.
	WarmingListeners(context.Context, model.GatewayID) (int, error)
	// ClustersWithHosts asks a Gateway's proxy which clusters have a host.
	ClustersWithHosts(context.Context, model.GatewayID) ([]string, error)
	ConfigDump(context.Context, model.GatewayID) ([]byte, error)
}

// Target is where resources are published to, and what answers come from.
type Target interface {
	Proxies
	Publish(xdsserve.Update) (seq uint64)
	Retry(...xdsserve.Scoped)
	// Events is signalled when Take has something to return.
	Events() <-chan struct{}
	Take() []xdsserve.Event
}

// Options are the parts that a loop joins.
type Options struct {
	Graph   *Graph
	Target  Target
	Proxies Infrastructure
	// Validators judge what passed the checks of this product, in this order.
	Validators []Judged
	// Schema decodes proposals; nil knows no feature switches.
	Schema *schema.Validator
	// Refresh looks for objects that proposals lack; nil where there is nowhere to look.
	Refresh Refresh
	// Retained is optional.
	Retained Retained
	// Memory is optional.
	Memory     Memory
	Live       observe.Live
	Metrics    *observe.Metrics
	Pulse      *observe.Pulse
	Log        *slog.Logger
	Controller gateway_v1.GatewayController
	Identity   Identity
	// BindAddress is what listeners without an address of their own bind.
	BindAddress netip.Addr
	// Quiet and MaxDelay bound how long changes wait for more; endpoints do not wait.
	Quiet, MaxDelay time.Duration
	// Drain is how long connections may be served by an earlier version of their
	// listener.
	Drain time.Duration
	Now   func() time.Time
	// Reach tells whether a listener of a network, "tcp" or "udp", takes what is sent to
	// its address; nil opens and closes a connection, or looks for a UDP socket.
	Reach func(ctx context.Context, network string, address netip.AddrPort) error
}

// Loop joins the stages. Its state is owned by the goroutine that calls Run.
type Loop struct {
	Options
	board    *board
	reporter *Reporter
	admitter *Admitter
	rules    acceptance.Rules
	judges   judges

	batches chan snapshot.Batch
	probes  chan probed
	lacking chan lacking
	infra   chan host.Event
	tasks   sync.WaitGroup

	window   coalesce.Window
	observed store.View
	accepted derive.State
	rejected map[store.Key]acceptance.Rejection
	pending  map[store.Key]time.Time // observed and not yet decided about, nor in a lane
	search   *lane                   // the round in progress
	side     *lane                   // what is tried beside it
	aside    map[store.Key]any       // what was tried beside it and not accepted
	missed   bool                    // a round was due while one was in progress
	stirred  bool                    // something else than endpoints was decided since the last round
	// acceptances counts how often something was accepted.
	acceptances int
	patience    patience
	expiry      time.Time // of the next retained revision
	fleet       fleet
	inflight    inflight
	probing     map[model.GatewayID]*probe
	slow        map[model.GatewayID]time.Time // Gateways with slow clusters: when to look again
	retries     retries
	kept        map[string]scoped // resources that can no longer be made, by collection and key
	layouts     layouts
	pruned      bool // nothing is kept any more of what is gone
	started     bool // the initial batch went through a round
	ready       bool
}

// New returns a Loop that has observed nothing.
func New(o Options) *Loop {
	l := &Loop{
		Options: o, board: newBoard(),
		batches: make(chan snapshot.Batch), probes: make(chan probed), lacking: make(chan lacking), infra: make(chan host.Event, 64),
		window:   coalesce.New(o.Quiet, o.MaxDelay),
		rejected: map[store.Key]acceptance.Rejection{}, pending: map[store.Key]time.Time{},
		probing: map[model.GatewayID]*probe{}, slow: map[model.GatewayID]time.Time{}, kept: map[string]scoped{},
		layouts: newLayouts(o.Drain, holdLayout),
	}
	if l.Retained == nil {
		l.Retained = unkept{}
	}
	if l.Memory == nil {
		l.Memory = forgetful{}
	}
	if l.Reach == nil {
		l.Reach = reach
	}
	l.rules = o.Graph.Rules()
	l.judges = newJudges(o.Graph, measure(o.Validators, o.Metrics, o.Now), l.tellUnavailable)
	l.admitter = newAdmitter(l.Options, l.rules, l.board, l.judges)
	l.reporter = &Reporter{
		graph: o.Graph, board: l.board, proxiesOf: o.Target, controller: o.Controller, bind: o.BindAddress,
		identity: o.Identity, now: o.Now, transitions: status.NewTransitions(),
		dump: func(ctx context.Context, gateway string) ([]byte, error) {
			return l.Proxies.ConfigDump(ctx, model.GatewayID(gateway))
		},
	}
	return l
}

// Reporter answers questions about the loop.
func (l *Loop) Reporter() *Reporter { return l.reporter }

// Admitter judges proposals on what the loop has accepted.
func (l *Loop) Admitter() *Admitter { return l.admitter }

// Observe hands a batch to the loop and waits until it is taken, or ctx ends.
func (l *Loop) Observe(ctx context.Context, batch snapshot.Batch) {
	select {
	case l.batches <- batch:
	case <-ctx.Done():
	}
}

// holdLayout is how long a table is looked up in one way before it may change.
const holdLayout = time.Hour

// heartbeat is how often an idle loop turns, to show that it can.
const heartbeat = time.Second

// Run turns until ctx ends. Each turn does one of these things:
//
//  1. takes a batch of changes: the observed view advances, a round is due;
//  2. begins the round that is due; one that only computes ends in the same turn: what
//     it accepted is published, and readers are told;
//  3. ends a round, or what was tried beside it, that had to ask a validator or to search;
//  4. takes what proxies answered: changes land, refusals are noted;
//  5. takes the result of probing a Gateway's listeners, or of looking at its slow
//     clusters: Programmed is known, a warning is over;
//  6. takes news of proxy processes;
//  7. does what time asks for: retries, tables that have drained, heartbeat.
//
// Nothing in a turn waits for a validator, a proxy, a file or a reader.
func (l *Loop) Run(ctx context.Context) error {
	defer l.tasks.Wait()
	timer := time.NewTimer(heartbeat)
	defer timer.Stop()
	l.observed = l.observed.Apply(l.layouts.recall(l.Memory.Recall(), l.Now())...)
	for {
		timer.Reset(l.untilDue())
		select {
		case batch := <-l.batches:
			l.observe(ctx, batch)
		case <-l.search.finished():
			l.endRound(ctx)
		case <-l.side.finished():
			l.endSide(ctx)
		case <-l.Target.Events():
			l.answers(ctx, l.Target.Take())
		case result := <-l.probes:
			l.probedListeners(ctx, result, l.Now())
		case result := <-l.lacking:
			l.clustersLack(result)
		case event := <-l.infra:
			l.processNews(event)
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		l.dueWork(ctx)
	}
}

// untilDue is how long the loop may sleep.
func (l *Loop) untilDue() time.Duration {
	now := l.Now()
	due := now.Add(heartbeat)
	if at, ok := l.window.Deadline(); ok && at.Before(due) {
		due = at
	}
	if at, ok := l.retries.next(); ok && at.Before(due) {
		due = at
	}
	if at, ok := l.layouts.next(); ok && l.started && at.Before(due) {
		due = at
	}
	if at := l.patience.at; !at.IsZero() && l.search == nil && at.Before(due) {
		due = at
	}
	if at, ok := l.nextProbe(); ok && at.Before(due) {
		due = at
	}
	for _, at := range l.slow {
		if at.Before(due) {
			due = at
		}
	}
	return max(due.Sub(now), 0)
}

func (l *Loop) dueWork(ctx context.Context) {
	now := l.Now()
	l.Pulse.Beat(now)
	if l.started {
		l.remember(l.layouts.due(now), now)
	}
	l.expire(now)
	if l.window.Take(now) || l.search == nil && l.patience.due(now) {
		l.round(ctx, now)
	}
	l.dueProbes(ctx, now)
	l.lookAtSlow(ctx, now)
	for _, name := range l.retries.due(now) {
		l.Target.Retry(name)
	}
}

// observe advances the observed view by one atomic batch.
func (l *Loop) observe(ctx context.Context, batch snapshot.Batch) {
	now := l.Now()
	news := l.board.observe(batch)
	l.observed = l.observed.Apply(batch.Edits...)
	l.keepOrigins(ctx, batch)
	urgent := len(batch.Edits) > 0 && !batch.Initial
	for _, e := range batch.Edits {
		if _, waits := l.pending[e.Key]; !waits {
			l.pending[e.Key] = batch.ObservedAt
		}
		urgent = urgent && e.Collection == "EndpointSlice"
	}
	l.tellNews(news, batch)
	if urgent || batch.Initial {
		l.window.AddWithin(now, 0)
		return
	}
	l.window.Add(now)
}

// remember lets the next round know what was decided about tables.
func (l *Loop) remember(edits []store.Edit, now time.Time) {
	if len(edits) > 0 {
		l.observed = l.observed.Apply(edits...)
		l.window.AddWithin(now, 0)
		l.Memory.Keep(l.layouts.ways())
	}
}

func (l *Loop) processNews(e host.Event) {
	switch e.Kind {
	case host.Exited:
		if e.Err == nil {
			l.Log.Info("proxy ended", observe.KeyGateway, e.Gateway, observe.KeyPID, e.PID)
			return
		}
		if e.Again {
			l.Metrics.ProxyRestarts.Inc()
		}
		l.Log.Warn("proxy exited", observe.KeyGateway, e.Gateway, observe.KeyPID, e.PID, observe.KeyError, e.Err, observe.KeyRestart, e.Restart)
	case host.Started, host.Ready, host.Adopted:
		l.Log.Info("proxy "+string(e.Kind), observe.KeyGateway, e.Gateway, observe.KeyPID, e.PID)
	}
}

// ProcessNews hands news of a proxy process to the loop; it never blocks, and drops news
// when the loop is far behind: they inform, they decide nothing.
func (l *Loop) ProcessNews(e host.Event) {
	select {
	case l.infra <- e:
	default:
	}
}
