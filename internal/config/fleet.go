package config

import (
	"net/netip"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
)

// Fleet is the static configuration of "gatehouse fleet".
type Fleet struct {
	// Config is the directory of Proxy and Secret documents; empty for a cluster.
	Config string
	// StateDir is where the fleet of a directory keeps what it knows, absolute.
	StateDir   string
	Kubernetes FleetKubernetes
	// Providers are those that are on, by the names that spec.provider has, sorted.
	Providers []string
	// MaxUnavailable is how much of the fleet may be replaced at once.
	MaxUnavailable lifecycle.Budget
	// ProviderRate is how many requests per second each provider gets; 0 is the default of
	// each, see Rate.
	ProviderRate int
	GC           FleetGC
	// AllowMassDelete lets more than half of the Proxies of a directory go at once.
	AllowMassDelete bool
	// AdminAddress answers /v1/fleet, MetricsAddress Prometheus; both HOST:PORT.
	AdminAddress, MetricsAddress string
	Leases                       FleetLeases
	Egress                       FleetEgress
	Process                      FleetProcess
	Pods                         FleetPods
	GCP                          FleetGCP
	Hetzner                      FleetHetzner
	Forward                      FleetForward
	LogLevel                     string
	LogJSON                      bool
}

// InCluster reports whether objects come from an API server.
func (f Fleet) InCluster() bool { return f.Config == "" }

// FleetGC is how instances without an owner are looked for.
type FleetGC struct {
	Interval, MinAge time.Duration
	// DryRun logs what would be deleted.
	DryRun bool
	// AllowNamespaced sweeps although only some namespaces are watched.
	AllowNamespaced bool
}

// FleetProcess is the provider process.
type FleetProcess struct {
	// Network gives each proxy a network namespace and an address of its own, of Pool;
	// without it they listen on loopback addresses.
	Network bool
	Pool    netip.Prefix // IPv4, at most a /22
	// AllowDestinations are networks that proxies connect to although they are loopback,
	// private or of this machine.
	AllowDestinations []netip.Prefix
	// ForwardBinary is the program that it starts; empty for this one.
	ForwardBinary string
}

// FleetGCP is the provider gcp.
type FleetGCP struct {
	// Project is used where a Proxy's providerConfigRef names none.
	Project string
	// Endpoint is the URL of the API; empty for Google's.
	Endpoint string
	// ReadOperations asks why an accepted create came to nothing.
	ReadOperations bool
}

// FleetHetzner is the provider hetzner.
type FleetHetzner struct {
	// Endpoint is the URL of the API; empty for Hetzner's.
	Endpoint string
	// Token is used where a Proxy's providerConfigRef names none. It comes from the
	// environment only.
	Token string
}

// FleetForward is the program that instances of clouds download.
type FleetForward struct {
	// URL has it, for the instances' architecture; SHA256 is its checksum, 64 hexadecimal
	// digits. Both or neither are set.
	URL, SHA256 string
}

// Rate is how many requests per second a provider gets. Hetzner allows 3600 an hour to a
// project (docs.hetzner.cloud, "Rate Limiting").
func (f Fleet) Rate(provider string) float64 {
	switch {
	case f.ProviderRate > 0:
		return float64(f.ProviderRate)
	case provider == "hetzner":
		return 1
	}
	return 20
}
