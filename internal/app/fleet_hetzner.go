package app

import (
	"context"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/hetzner"
	"github.com/gatehouse-proxy/gatehouse/internal/version"
)

// hetznerProvider makes servers of Hetzner Cloud.
func hetznerProvider(_ context.Context, c config.Fleet, _ IO, cluster string) (provider.Provider, error) {
	return hetzner.New(hetzner.Options{Cluster: cluster, Token: c.Hetzner.Token, Endpoint: c.Hetzner.Endpoint, Version: version.Number}), nil
}
