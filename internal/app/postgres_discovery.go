package app

import (
	"context"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube/index"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/kubeapi"
)

// servers are where sessions go.
type servers struct {
	discovery.Resolver
	// run keeps them up to date until its context ends, and tells which are gone.
	run func(ctx context.Context, gone func(discovery.Target))
	// waits is what must be known before the first session.
	waits []func() string
	// endpoints and problems are what a cluster knows; nil where there is none.
	endpoints func(discovery.Backend) []postgres.Endpoint
	problems  func() map[string]int
}

func findServers(c config.Postgres, io IO) (servers, error) {
	if c.Discovery != config.DiscoveryKubernetes {
		return servers{Resolver: discovery.NewTable(c.Backends), run: func(context.Context, func(discovery.Target)) {}}, nil
	}
	options, err := kubeOptions(c, io)
	if err != nil {
		return servers{}, err
	}
	d, err := kube.New(options)
	if err != nil {
		return servers{}, err
	}
	return servers{Resolver: d, run: d.Run, waits: []func() string{d.Waiting}, endpoints: endpointsOf(d), problems: d.ProblemCounts}, nil
}

func endpointsOf(d *kube.Discovery) func(discovery.Backend) []postgres.Endpoint {
	return func(b discovery.Backend) []postgres.Endpoint {
		known, ok := d.Describe(b.Deployment, b.Pooled)
		if !ok || known.ByName != "" {
			return []postgres.Endpoint{{Address: b.Address(), Ready: ok}}
		}
		var out []postgres.Endpoint
		for _, e := range known.Endpoints {
			out = append(out, postgres.Endpoint{Address: e.Address, Ready: e.Ready})
		}
		return out
	}
}

// Servers answer where sessions would go, and why.
type Servers interface {
	discovery.Resolver
	// Describe returns what a cluster knows of a form of a deployment; false where it is
	// not known, or there is no cluster.
	Describe(ctx context.Context, deployment string, pooled bool) (index.Description, bool, error)
	// Problems are those of all Services.
	Problems() []index.Problem
}

// LookUp finds the servers once. It asks the cluster, if there is one, until ctx ends.
func LookUp(ctx context.Context, c config.Postgres, io IO) (Servers, error) {
	if c.Discovery != config.DiscoveryKubernetes {
		return staticServers{discovery.NewTable(c.Backends)}, nil
	}
	options, err := kubeOptions(c, io)
	if err != nil {
		return nil, err
	}
	return kube.Look(ctx, options)
}

type staticServers struct{ *discovery.Table }

func (staticServers) Describe(context.Context, string, bool) (d index.Description, ok bool, err error) {
	return d, false, nil
}

func (staticServers) Problems() []index.Problem { return nil }

func kubeOptions(c config.Postgres, io IO) (kube.Options, error) {
	k := c.Kubernetes
	config, err := kubeapi.Connection{Kubeconfig: k.Kubeconfig, Context: k.Context}.Config()
	return kube.Options{
		Config: config, Namespaces: k.Namespaces, Log: io.Log,
		ClusterDomain: k.ClusterDomain, AllowLocal: k.AllowLocal,
	}, err
}
