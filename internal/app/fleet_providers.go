package app

import (
	"context"
	"fmt"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/gcp"
)

// fleetProviders makes the providers that are on, by the names that spec.provider has.
func fleetProviders(ctx context.Context, c config.Fleet, io IO) (map[string]provider.Provider, error) {
	makers := map[string]func(context.Context, config.Fleet, IO) (provider.Provider, error){
		"gcp":        gcpProvider,
		"hetzner":    hetznerProvider,
		"kubernetes": kubernetesProvider,
		"process":    processProvider,
	}
	out := make(map[string]provider.Provider, len(c.Providers))
	for _, name := range c.Providers {
		made, err := makers[name](ctx, c, io)
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", name, err)
		}
		if made != nil {
			out[name] = made
		}
	}
	return out, nil
}

// gcpProvider makes virtual machines of Google Compute Engine.
func gcpProvider(_ context.Context, c config.Fleet, _ IO) (provider.Provider, error) {
	return gcp.New(gcp.Options{Project: c.GCP.Project, Endpoint: c.GCP.Endpoint, ReadOperations: c.GCP.ReadOperations}), nil
}

// hetznerProvider makes servers of Hetzner Cloud.
func hetznerProvider(context.Context, config.Fleet, IO) (provider.Provider, error) {
	return nil, nil //nolint:nilnil // not yet
}

// kubernetesProvider makes pods in the cluster that has the Proxies.
func kubernetesProvider(context.Context, config.Fleet, IO) (provider.Provider, error) {
	return nil, nil //nolint:nilnil // not yet
}

// processProvider starts processes on this machine. What it knows of them it keeps in
// the state directory, below process.
func processProvider(context.Context, config.Fleet, IO) (provider.Provider, error) {
	return nil, nil //nolint:nilnil // not yet
}
