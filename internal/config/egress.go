package config

import (
	"net/netip"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// Egress is the static configuration of "gatehouse egress".
type Egress struct {
	// Listen is for clients, HOST:PORT.
	Listen string
	// LeaseAPI is the URL of the lease API; Token is what it asks for, from the environment
	// only, empty for none.
	LeaseAPI, Token string
	// Tokens is the file of those who may use it; empty for everybody.
	Tokens string
	// AllowUnauthenticated lets everybody in who reaches it.
	AllowUnauthenticated bool
	// TLSCert and TLSKey are files in PEM; both empty for connections in clear.
	TLSCert, TLSKey string
	// AllowDestinations may be reached although they are loopback or private.
	AllowDestinations []netip.Prefix
	AllowPorts        destination.Ports
	// MaxConnections are those of clients, at least 1.
	MaxConnections int
	// All are from 1 s to 1 h.
	ConnectTimeout, IdleTimeout, DrainTimeout time.Duration
	// AdminAddress answers /v1/sessions, MetricsAddress Prometheus; both HOST:PORT.
	AdminAddress, MetricsAddress string
	LogLevel                     string
	LogJSON                      bool
}

// LoadedEgress is a configuration of a super-proxy and where it came from.
type LoadedEgress struct {
	Egress Egress
	// Warnings are settings that work and that an operator should look at, a line each.
	Warnings []string
	// Given are the settings that are not defaults, in order of the reference.
	Given []Given
}
