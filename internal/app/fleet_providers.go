package app

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/gcp"
)

// providerCallTime is how long one call of a provider may take.
const providerCallTime = 30 * time.Second

// makeProviders makes the providers that are on, by the names that spec.provider has,
// for the instances with a cluster's label. Their calls are counted as they are made,
// and limited before.
func (f *fleet) makeProviders(ctx context.Context, cluster string) error {
	makers := map[string]func(context.Context, config.Fleet, IO, string) (provider.Provider, error){
		"gcp":        gcpProvider,
		"hetzner":    hetznerProvider,
		"kubernetes": kubernetesProvider,
		"process":    processProvider,
	}
	f.providers = make(map[string]provider.Provider, len(f.config.Providers))
	for _, name := range f.config.Providers {
		made, err := makers[name](ctx, f.config, f.io, cluster)
		if err != nil {
			return fmt.Errorf("provider %s: %w", name, err)
		}
		if made == nil {
			continue
		}
		made = provider.WithDeadline(made, providerCallTime)
		if f.requests != nil {
			made = provider.WithMetrics(made, name, f.requests)
		}
		if f.fence != nil {
			made = provider.WithFence(made, f.fence)
		}
		f.providers[name] = provider.Limited(made, f.config.Rate(name))
	}
	return nil
}

// gcpProvider makes virtual machines of Google Compute Engine.
func gcpProvider(_ context.Context, c config.Fleet, _ IO, cluster string) (provider.Provider, error) {
	return gcp.New(gcp.Options{Cluster: cluster, Project: c.GCP.Project, Endpoint: c.GCP.Endpoint, ReadOperations: c.GCP.ReadOperations}), nil
}
