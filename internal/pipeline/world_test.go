package pipeline

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/internal/compile"
	"github.com/gatehouse-proxy/gatehouse/internal/infra/host"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

const controller = "gatehouse.dev/gateway-controller"

// proxies are what the loop's order of events is tested against: proxies that
// answer when, and how, the test says. Real ones are in test/e2e.
type proxies struct {
	mu        sync.Mutex
	seq       uint64
	connected map[string]bool // groups
	refusing  string          // message of the refusal of every listener, or empty
	dislikes  string          // refuses what has this text
	published map[scoped]xdsserve.Resource
	retried   []scoped
	events    []xdsserve.Event
	signal    chan struct{}
	running   []string
	ensured   bool     // it was told what is to run
	resolved  []string // clusters that have a host
	gone      bool     // the admin socket does not answer
}

func (p *proxies) Publish(u xdsserve.Update) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq++
	for _, r := range u.Set {
		p.published[scoped{Group: r.Group, Name: r.Name}] = r
	}
	for _, s := range u.Remove {
		delete(p.published, s)
	}
	return p.seq
}

func (p *proxies) Retry(names ...xdsserve.Scoped) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retried = append(p.retried, names...)
}

func (p *proxies) Ledger(group string) []xdsserve.Belief {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.connected[group] {
		return nil
	}
	return []xdsserve.Belief{{Proxy: group + "/1", Group: group, Seq: p.seq}}
}

func (p *proxies) Standing(group string, names ...xdsserve.Name) xdsserve.Standing {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.connected[group] {
		return xdsserve.Standing{}
	}
	for _, n := range names {
		if r := p.published[scoped{Group: group, Name: n}]; p.dislikes != "" && strings.Contains(string(r.Body), p.dislikes) {
			return xdsserve.Standing{Total: 1, Refusals: []xdsserve.Refusal{{Proxy: group + "/1", Name: n, Version: r.Version, Message: "I cannot take it"}}}
		}
		if n.Type == xdsserve.Listener && p.refusing != "" {
			return xdsserve.Standing{Total: 1, Refusals: []xdsserve.Refusal{{Proxy: group + "/1", Name: n, Message: p.refusing}}}
		}
	}
	return xdsserve.Standing{Acknowledged: 1, Total: 1}
}

func (p *proxies) Events() <-chan struct{} { return p.signal }

func (p *proxies) Take() []xdsserve.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	events := p.events
	p.events = nil
	return events
}

// say queues what a proxy of a group says.
func (p *proxies) say(kind xdsserve.EventKind, group string, change func(*xdsserve.Event)) {
	p.mu.Lock()
	e := xdsserve.Event{Kind: kind, Proxy: group + "/1", Group: group, Seq: p.seq, At: time.Now()}
	if change != nil {
		change(&e)
	}
	switch kind {
	case xdsserve.Connected:
		p.connected[group] = true
	case xdsserve.Disconnected:
		delete(p.connected, group)
	default: // the proxy stays
	}
	p.events = append(p.events, e)
	p.mu.Unlock()
	select {
	case p.signal <- struct{}{}:
	default:
	}
	synctest.Wait()
}

func (p *proxies) Ensure(gateways []model.Gateway) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running, p.ensured = nil, true
	for _, g := range gateways {
		p.running = append(p.running, string(g.ID))
	}
}

func (p *proxies) WarmingListeners(context.Context, model.GatewayID) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return 0, host.ErrNotRunning
	}
	return 0, nil
}

func (p *proxies) ClustersWithHosts(context.Context, model.GatewayID) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resolved, nil
}

func (p *proxies) ConfigDump(context.Context, model.GatewayID) ([]byte, error) { return nil, nil }

// screen keeps what the live view was told.
type screen struct {
	mu     sync.Mutex
	ready  bool
	events []observe.LiveEvent
}

func (*screen) Started(observe.Start) {}
func (*screen) Loaded(observe.Loaded) {}
func (*screen) Stopping(string)       {}

func (s *screen) Ready(observe.Ready) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
}

func (s *screen) Event(e observe.LiveEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *screen) last() observe.LiveEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) == 0 {
		return observe.LiveEvent{}
	}
	return s.events[len(s.events)-1]
}

// world is a loop with proxies and a screen.
type world struct {
	*testing.T
	loop    *Loop
	proxies *proxies
	screen  *screen
}

// inWorld runs a test in a bubble of time with a loop that serves one Gateway
// with one route to one Service.
func inWorld(t *testing.T, test func(w world)) {
	t.Helper()
	inJudgedWorld(t, nil, test)
}

// inJudgedWorld is inWorld with validators.
func inJudgedWorld(t *testing.T, validators []Judged, test func(w world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &proxies{connected: map[string]bool{}, published: map[scoped]xdsserve.Resource{}, signal: make(chan struct{}, 1)}
		w := world{T: t, proxies: p, screen: &screen{}}
		bind := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		w.loop = New(Options{
			Graph:  NewGraph(compile.Options{ControllerName: controller, XBackend: true, BindAddress: bind}, envoy.Options{BindAddress: bind}),
			Target: p, Proxies: p, Validators: validators, Live: w.screen, Metrics: observe.NewMetrics(), Pulse: new(observe.Pulse),
			Log: slog.New(slog.DiscardHandler), Controller: controller, BindAddress: bind,
			Quiet: 5 * time.Millisecond, MaxDelay: 50 * time.Millisecond, Now: time.Now,
			Reach: func(context.Context, string, netip.AddrPort) error { return nil },
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = w.loop.Run(ctx) })
		defer running.Wait()
		defer stop()
		w.observe(snapshot.Batch{Initial: true, Files: 1, Edits: []store.Edit{
			edit("GatewayClass", class()), edit("Gateway", edge("edge", 8080)), edit("Service", service("cart")), edit("HTTPRoute", route("shop", "cart")),
		}})
		test(w)
		w.checkStates()
	})
}

func (w world) observe(b snapshot.Batch) {
	w.Helper()
	b.ObservedAt = time.Now()
	w.loop.Observe(w.Context(), b)
	time.Sleep(100 * time.Millisecond) // of the bubble: the round is over
	synctest.Wait()
}

func (w world) change(edits ...store.Edit) {
	w.Helper()
	w.observe(snapshot.Batch{Files: 1, Edits: edits})
}

// connect lets the proxy of a Gateway come and answer everything.
func (w world) connect(group string) {
	w.Helper()
	w.proxies.say(xdsserve.Connected, group, nil)
	w.proxies.say(xdsserve.Settled, group, nil)
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

func (w world) why(kind, name string) verdict.Verdict {
	w.Helper()
	v, never := w.loop.Reporter().Verdict(kind, name)
	if v == nil {
		w.Fatalf("%s %s was never seen: %v", kind, name, never.Reasons)
	}
	return *v
}

// programmed is the reason of the only listener's Programmed condition.
func (w world) programmed(gateway string) string {
	w.Helper()
	for _, g := range w.loop.Reporter().Overview().Gateways {
		if g.Name == gateway && len(g.Listeners) == 1 {
			return g.Listeners[0].Reason
		}
	}
	return "no listener"
}

func edit(kind string, o snapshot.Object) store.Edit {
	return store.Edit{Key: snapshot.Ref(kind, o.GetNamespace(), o.GetName()), Value: o}
}

func gone(kind, name string) store.Edit {
	return store.Edit{Collection: kind, Name: name}
}

func named(name string) meta_v1.ObjectMeta {
	return meta_v1.ObjectMeta{Namespace: "shop", Name: name, Generation: 1}
}

func class() *gateway_v1.GatewayClass {
	return &gateway_v1.GatewayClass{Name: "gatehouse", Spec: gateway_v1.GatewayClassSpec{ControllerName: controller}}
}

func edge(name string, port int32) *gateway_v1.Gateway {
	return &gateway_v1.Gateway{ObjectMeta: named(name), Spec: gateway_v1.GatewaySpec{
		GatewayClassName: "gatehouse",
		Listeners:        []gateway_v1.Listener{{Name: "http", Protocol: gateway_v1.HTTPProtocolType, Port: port}},
	}}
}

func service(name string) *core_v1.Service {
	return &core_v1.Service{ObjectMeta: named(name), Spec: core_v1.ServiceSpec{Ports: []core_v1.ServicePort{{Port: 80}}}}
}

// route goes to a backend for every path.
func route(name, backend string) *gateway_v1.HTTPRoute {
	return &gateway_v1.HTTPRoute{ObjectMeta: named(name), Spec: gateway_v1.HTTPRouteSpec{
		CommonRouteSpec: gateway_v1.CommonRouteSpec{ParentRefs: []gateway_v1.ParentReference{{Name: "edge"}}},
		Rules: []gateway_v1.HTTPRouteRule{{
			Matches:     []gateway_v1.HTTPRouteMatch{{Path: &gateway_v1.HTTPPathMatch{Type: new(gateway_v1.PathMatchPathPrefix), Value: new("/")}}},
			BackendRefs: []gateway_v1.HTTPBackendRef{{Name: gateway_v1.ObjectName(backend), Port: new(gateway_v1.PortNumber(80))}},
		}},
	}}
}

// invalid is a route whose only rule has an expression that RE2 refuses.
func invalid(name string) *gateway_v1.HTTPRoute {
	r := route(name, "cart")
	r.Spec.Rules[0].Matches[0].Path = &gateway_v1.HTTPPathMatch{Type: new(gateway_v1.PathMatchRegularExpression), Value: new("/(")}
	return r
}

func (p *proxies) has(group string, t xdsserve.Type) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.published {
		if s.Group == group && s.Type == t {
			return true
		}
	}
	return false
}

func (p *proxies) offers() []scoped {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.retried)
}

// resolve gives clusters a host.
func (p *proxies) resolve(clusters ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resolved = clusters
}

func (w world) warns(kind, name string) bool {
	w.Helper()
	return slices.ContainsFunc(w.why(kind, name).Steps, func(s verdict.Step) bool { return s.Reason == verdict.WarmTimedOut.Name })
}

// outside is a backend by host name.
func outside(name, host string) *gateway_xv1alpha1.XBackend {
	return &gateway_xv1alpha1.XBackend{ObjectMeta: named(name), Spec: gateway_xv1alpha1.BackendSpec{
		Type: gateway_xv1alpha1.BackendTypeExternalHostname, Port: gateway_xv1alpha1.BackendPort{Number: 80},
		ExternalHostname: &gateway_xv1alpha1.ExternalHostnameBackend{Hostname: gateway_v1.PreciseHostname(host)},
	}}
}

// routeTo goes to an XBackend for every path.
func routeTo(name, backend string) *gateway_v1.HTTPRoute {
	r := route(name, backend)
	ref := &r.Spec.Rules[0].BackendRefs[0].BackendObjectReference
	ref.Group, ref.Kind, ref.Port = new(gateway_v1.Group("gateway.networking.x-k8s.io")), new(gateway_v1.Kind("XBackend")), nil
	return r
}
