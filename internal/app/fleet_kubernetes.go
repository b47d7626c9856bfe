package app

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/controller"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/kubeapi"
	"github.com/gatehouse-proxy/gatehouse/pkg/runner"
)

// fleetLease is the name of the Lease whose holder works.
const fleetLease = "gatehouse-fleet"

// clusterShell takes Proxies from an API server.
func (f *fleet) clusterShell() []runner.Component {
	var shell *controller.Controller
	return []runner.Component{
		{Name: "cluster", Start: func(ctx context.Context) (err error) {
			if shell, err = f.connect(ctx); err == nil {
				f.asked.set(shell)
			}
			return err
		}},
		{Name: "lease store", Start: func(ctx context.Context) error {
			return f.openShared(ctx, shell.Cluster()+"/"+f.config.Kubernetes.Namespace) // two fleets of a cluster differ in theirs
		}, Stop: f.leaveShared},
		{Name: "roster", Run: f.runRoster},
		{Name: "providers", Start: func(ctx context.Context) error { return f.makeProviders(ctx, shell.Cluster()) }},
		{Name: "proxies", Run: func(ctx context.Context) error {
			core := f.reconciler(shell.Objects(), shell.Cluster())
			sweeper := f.sweeper(shell.Objects(), shell.Cluster())
			return shell.Run(ctx, controller.Work{Reconcile: core.Reconcile, Beside: []func(context.Context){sweeper.Run, f.lead}})
		}},
		// before what it answers from ends
		{Name: "lease API", Run: f.serveLeases},
	}
}

// verdictBuffer is how many verdicts may wait to be written; more come with later probes.
const verdictBuffer = 64

// connect waits until the API server answers.
func (f *fleet) connect(ctx context.Context) (*controller.Controller, error) {
	k := f.config.Kubernetes
	config, err := kubeapi.Connection{Kubeconfig: k.Kubeconfig, Context: k.Context}.Config()
	if err != nil {
		return nil, err
	}
	began, verdicts := make(chan struct{}), make(chan types.NamespacedName, verdictBuffer)
	f.emit = func(key types.NamespacedName) bool {
		select {
		case verdicts <- key:
			return true
		default:
			return false
		}
	}
	o := controller.Options{
		Config: config, Namespaces: k.Namespaces, Namespace: k.Namespace, Lease: fleetLease, Providers: f.config.Providers,
		LeaseDuration: k.LeaseDuration, Health: verdicts, Began: began, Advertise: f.advertised(), Log: f.io.Log,
		Watch: controller.Watch{
			Proxy:  func(key types.NamespacedName) { f.roster.Touch(key) },
			Secret: func(key types.NamespacedName) { f.roster.SecretChanged(key) },
		},
	}
	if f.config.Leases.InMemory() {
		o.Rights = append(o.Rights, controller.CheckpointRight(k.Namespace, leasesSecret))
	}
	if slices.Contains(f.config.Providers, "kubernetes") {
		o.Rights = append(o.Rights, controller.Right{Resource: "pods", Verbs: []string{"get", "list", "create", "delete"}})
	}
	shell, err := controller.New(ctx, o)
	if err == nil {
		f.fence, f.leads, f.sink = shell.Leads, shell.Leads, shell.Checkpoint(leasesSecret)
		f.leader = shell.Leader
		f.follow(shell.Objects(), began)
	}
	return shell, err
}
