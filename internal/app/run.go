package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/compile"
	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/failmode"
	"github.com/gatehouse-proxy/gatehouse/internal/infra/host"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/pipeline"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/xds"
	"github.com/gatehouse-proxy/gatehouse/internal/retain"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/file"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/version"
	"github.com/gatehouse-proxy/gatehouse/pkg/runner"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// How long changes wait for more of them: until the source was quiet, and at most.
const (
	quiet    = 5 * time.Millisecond
	maxDelay = 50 * time.Millisecond
)

// loopStuck is how long the loop may go without a turn before /healthz says so.
const loopStuck = 10 * time.Second

// instance is one running standalone gateway: the parts and the settings they share.
type instance struct {
	config  config.Run
	io      IO
	since   time.Time
	envoy   string            // path
	how     string            // it was found
	version string            // of Envoy
	sockets string            // directory
	schema  *schema.Validator // of files and of proposals
	metrics *observe.Metrics
	pulse   *observe.Pulse
	live    *settling

	target          *xds.Target
	loop            *pipeline.Loop
	proxies         *host.Supervisor
	tables          *tableFile
	retained        *retain.Store
	proof           *proof // nil with --prover=off
	auxiliary       auxiliary
	adminListener   net.Listener
	metricsListener net.Listener
}

// Run serves until ctx ends.
func Run(ctx context.Context, c config.Run, io IO) error {
	i := &instance{config: c, io: io, since: time.Now(), metrics: observe.NewMetrics(), pulse: new(observe.Pulse), live: newSettling(io.Live)}
	if err := i.find(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // called off
		}
		return err
	}
	if err := i.build(); err != nil {
		return err
	}
	defer func() { _ = host.RemoveSocketDir(i.sockets) }()
	return runner.Run(ctx, runner.Options{StopTimeout: c.DrainTimeout + 15*time.Second}, i.components()...)
}

// components are started in this order and stopped in reverse.
func (i *instance) components() []runner.Component {
	before := []runner.Component{
		// before anything slow, so that a port in use is told at once
		{Name: "addresses", Start: i.listen},
		// claims the state directory, which holds the socket of the next
		{Name: "proxies", Start: i.startProxies, Stop: i.stopProxies},
		// before the loop, which recalls and keeps by it; written to once the state directory is claimed
		{Name: "route tables", Run: i.tables.run},
		// likewise
		{Name: "accepted revisions", Start: i.recall, Run: func(ctx context.Context) error { return i.retained.Run(ctx) }},
		// before the loop, which tells which proxies there should be: none starts sooner
		{Name: "xds", Start: i.target.Start, Run: i.target.Run, Stop: i.target.Stop},
	}
	after := []runner.Component{
		// before the source, which feeds it
		{Name: "pipeline", Run: i.loop.Run},
		{Name: "admin", Run: i.serveAdmin},
		{Name: "metrics", Run: i.serveMetrics},
		{Name: "memory", Run: i.live.settle},
		// last: from here on things change
		{Name: "files", Run: i.watch},
	}
	return slices.Concat(before, i.proof.components(), i.auxiliary.components(), after)
}

// find looks for what the instance needs on this machine: Envoy, and a place for sockets.
func (i *instance) find(ctx context.Context) (err error) {
	if i.envoy, i.how, err = host.FindEnvoy(i.config.Envoy); err != nil {
		return err
	}
	if i.version, err = host.Version(ctx, i.envoy); err != nil {
		return err
	}
	if err := i.apart(); err != nil {
		return err
	}
	if warning := host.VersionWarning(i.version); warning != "" {
		i.io.Log.Warn(warning, observe.KeyVersion, i.version, observe.KeyPath, i.envoy)
	}
	i.sockets, err = host.SocketDir(i.config.StateDir)
	return err
}

// build makes the parts that need nothing from outside.
func (i *instance) build() (err error) {
	c := i.config
	if c.Prover != config.ProverOff {
		if i.proof, err = i.newProof(); err != nil {
			return err
		}
	}
	i.schema = schema.New(schema.Options{Open: opened(c.Features)})
	if i.auxiliary, err = newAuxiliary(c); err != nil {
		return err
	}
	graph := newGraph(c.ControllerName, c.Features, c.BindAddress)
	graph.FailModes = failmode.Modes{
		Certificates: c.FailModes.Certificates, Authorities: c.FailModes.CAs, Access: c.FailModes.Access, Deletions: c.FailModes.Deletions,
	}
	i.target = xds.New(i.socket(), c.XDSMaxReceiveBytes, xdsserve.Options{Drain: host.DrainTime})
	i.tables = newTableFile(c.StateDir, i.io.Log)
	i.loop = pipeline.New(pipeline.Options{
		Graph: graph, Schema: i.schema, Target: i.target, Validators: slices.Concat(i.proof.judged(c.Prover), i.auxiliary.judged), Memory: i.tables, Live: i.live, Metrics: i.metrics, Pulse: i.pulse, Log: i.io.Log,
		Controller:  gateway_v1.GatewayController(c.ControllerName),
		Identity:    pipeline.Identity{Version: version.Number, Envoy: i.version, Since: i.since},
		BindAddress: c.BindAddress, Quiet: quiet, MaxDelay: maxDelay, Drain: host.DrainTime, Now: time.Now,
	})
	return nil
}

func newGraph(controller string, f config.Features, bind netip.Addr) *pipeline.Graph {
	return pipeline.NewGraph(compile.Options{
		ControllerName: controller, Experimental: f.Experimental, XBackend: f.XBackend, BindAddress: bind,
	}, envoy.Options{BindAddress: bind})
}

func (i *instance) socket() string { return filepath.Join(i.sockets, "xds.sock") }

// listen opens the admin and the metrics address.
func (i *instance) listen(ctx context.Context) error {
	var err error
	if i.adminListener, err = listen(ctx, "--admin-address", i.config.AdminAddress); err != nil {
		return err
	}
	if i.metricsListener, err = listen(ctx, "--metrics-address", i.config.MetricsAddress); err != nil {
		_ = i.adminListener.Close()
		return err
	}
	i.io.Live.Started(observe.Start{
		Version: version.Number, Envoy: i.version, EnvoyHow: i.how, Paths: i.config.Paths,
		Admin: url(i.adminListener), Metrics: url(i.metricsListener),
	})
	return nil
}

// listen binds the address that a flag names. An IPv4 address is bound as such: 0.0.0.0
// does not mean IPv6 too.
func listen(ctx context.Context, flag, address string) (net.Listener, error) {
	network := "tcp"
	if literal, err := netip.ParseAddrPort(address); err == nil && literal.Addr().Is4() {
		network = "tcp4"
	}
	l, err := new(net.ListenConfig).Listen(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w; stop what uses it, or choose another address (port 0 takes a free one)", flag, address, err)
	}
	return l, nil
}

func url(l net.Listener) string { return "http://" + l.Addr().String() }

func (i *instance) startProxies(ctx context.Context) error {
	proxies, err := host.New(ctx, host.Options{
		Envoy: i.envoy, StateDir: i.config.StateDir, XDSSocket: i.socket(), KeepProxies: i.config.KeepProxies,
		DrainTimeout: i.config.DrainTimeout, Log: i.io.Log, Observe: i.loop.ProcessNews,
	})
	if err != nil {
		return err
	}
	i.proxies, i.loop.Proxies = proxies, proxies
	return nil
}

// recall reads what an earlier run had accepted.
func (i *instance) recall(context.Context) error {
	i.retained = retain.Open(retain.Options{Dir: i.config.StateDir, Validator: i.schema, Log: i.io.Log, Metrics: i.metrics})
	i.loop.Retained = i.retained
	return nil
}

func (i *instance) stopProxies(ctx context.Context) error {
	i.io.Live.Stopping("draining proxies")
	return i.proxies.Stop(ctx)
}

func (i *instance) serveAdmin(ctx context.Context) error {
	return admin.Serve(ctx, i.adminListener, admin.Handler(admin.Options{
		Reporter: i.loop.Reporter(), Admitter: i.loop.Admitter(), Metrics: url(i.metricsListener) + "/metrics",
		Live: func() error { return i.pulse.Live(time.Now(), loopStuck) },
	}))
}

func (i *instance) serveMetrics(ctx context.Context) error {
	serve := i.metrics.Handler()
	return admin.Serve(ctx, i.metricsListener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.loop.Reporter().CountObjects(i.metrics)
		serve.ServeHTTP(w, r)
	}))
}

func (i *instance) watch(ctx context.Context) error {
	source := file.New(file.Options{
		Paths: i.config.Paths, StateDir: i.config.StateDir, Log: i.io.Log,
		Validator: i.schema, Recall: i.retained,
	})
	return source.Run(ctx, func(batch snapshot.Batch) { i.loop.Observe(ctx, batch) })
}
