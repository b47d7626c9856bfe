package app

import (
	"context"
	"slices"

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
				f.fence = shell.Leads
				f.asked.set(shell)
			}
			return err
		}},
		{Name: "providers", Start: func(ctx context.Context) error { return f.makeProviders(ctx, shell.Cluster()) }},
		{Name: "proxies", Run: func(ctx context.Context) error {
			core := f.reconciler(shell.Objects(), shell.Cluster())
			sweeper := f.sweeper(shell.Objects(), shell.Cluster())
			return shell.Run(ctx, controller.Work{Reconcile: core.Reconcile, Beside: []func(context.Context){sweeper.Run}})
		}},
	}
}

// connect waits until the API server answers.
func (f *fleet) connect(ctx context.Context) (*controller.Controller, error) {
	k := f.config.Kubernetes
	config, err := kubeapi.Connection{Kubeconfig: k.Kubeconfig, Context: k.Context}.Config()
	if err != nil {
		return nil, err
	}
	o := controller.Options{
		Config: config, Namespaces: k.Namespaces, Namespace: k.Namespace, Lease: fleetLease, Providers: f.config.Providers,
		LeaseDuration: k.LeaseDuration, Log: f.io.Log,
	}
	if slices.Contains(f.config.Providers, "kubernetes") {
		o.Rights = []controller.Right{{Resource: "pods", Verbs: []string{"get", "list", "create", "delete"}}}
	}
	return controller.New(ctx, o)
}
