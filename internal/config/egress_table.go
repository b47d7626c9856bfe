package config

import (
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// EgressSettings returns all settings of "gatehouse egress" in order of the reference.
func EgressSettings() []Setting { return described(egressSettings(new(Egress))) }

// egressSettings is the one table that flags, environment and reference are made from.
func egressSettings(e *Egress) []*setting {
	all := slices.Concat(egressClientsTable(e), egressLimitsTable(e), egressAddressesTable(e))
	for _, s := range all {
		s.Flag = kebab(s.Key)
		s.Env = "GATEHOUSE_EGRESS_" + variable(s.Flag)
	}
	return all
}

func egressClientsTable(e *Egress) []*setting {
	return []*setting{
		{Setting{
			Key: "listen", Value: "HOST:PORT", Default: "127.0.0.1:3128",
			Usage: "where clients connect, by HTTP, CONNECT and SOCKS5; port 0 takes any free port",
		}, func(v []string) error { return setHostPort(&e.Listen, v) }, false},
		{Setting{
			Key: "leaseApi", Value: "URL", Default: "http://127.0.0.1:8090",
			Usage: "the lease API of gatehouse fleet, which is asked with the token of $DISCOVERY_TOKEN",
		}, func(v []string) error { return setURL(&e.LeaseAPI, v) }, false},
		{Setting{
			Key: "tokens", Value: "FILE",
			Usage: "who may use it: a line from gatehouse egress token for each; the file is read again when it changes",
		}, func(v []string) error { return setText(&e.Tokens, v) }, false},
		{Setting{
			Key: "allowUnauthenticated", Default: "false",
			Usage: "let everybody in who reaches --listen, on loopback only; user names still say what is wanted",
		}, func(v []string) error { return setSwitch(&e.AllowUnauthenticated, v) }, false},
		{Setting{
			Key: "tlsCert", Value: "FILE",
			Usage: "certificate for clients that connect by TLS, in PEM; by default they connect in clear",
		}, func(v []string) error { return setText(&e.TLSCert, v) }, false},
		{Setting{
			Key: "tlsKey", Value: "FILE",
			Usage: "its private key, in PEM",
		}, func(v []string) error { return setText(&e.TLSKey, v) }, false},
		{Setting{
			Key: "allowDestinations", Value: "CIDR,...",
			Usage: "networks that are destinations although they are loopback or private; the proxies have rules of their own",
		}, func(v []string) error { return setNetworks(&e.AllowDestinations, v) }, false},
		{Setting{
			Key: "allowPorts", Value: "LIST", Default: destination.DefaultPorts,
			Usage: "ports that are destinations; 25, 465 and 587 never are",
		}, func(v []string) error { return setPorts(&e.AllowPorts, v) }, false},
	}
}

func egressLimitsTable(e *Egress) []*setting {
	return []*setting{
		{Setting{
			Key: "maxConnections", Value: "N", Default: "8192",
			Usage: "connections of clients at most",
		}, func(v []string) error {
			return setNumber(&e.MaxConnections, v, "a number of connections", 1, 1_000_000)
		}, false},
		{Setting{
			Key: "connectTimeout", Value: "DURATION", Default: "15s",
			Usage: "how long a client waits for a proxy that is free, and again for the connection through it",
		}, func(v []string) error { return setSpan(&e.ConnectTimeout, v, time.Second, time.Hour) }, false},
		{Setting{
			Key: "idleTimeout", Value: "DURATION", Default: "5m",
			Usage: "how long nothing may pass, in a tunnel, in a request or between two",
		}, func(v []string) error { return setSpan(&e.IdleTimeout, v, time.Second, maxSpan) }, false},
		{Setting{
			Key: "drainTimeout", Value: "DURATION", Default: "30s",
			Usage: "how long what is under way may take to end after SIGTERM",
		}, func(v []string) error { return setSpan(&e.DrainTimeout, v, time.Second, time.Hour) }, false},
	}
}

func egressAddressesTable(e *Egress) []*setting {
	return []*setting{
		{Setting{
			Key: "adminAddress", Value: "HOST:PORT", Default: "127.0.0.1:19040",
			Usage: "where /healthz, /readyz and /v1/sessions are; port 0 takes any free port",
		}, func(v []string) error { return setHostPort(&e.AdminAddress, v) }, false},
		{Setting{
			Key: "metricsAddress", Value: "HOST:PORT", Default: "127.0.0.1:19041",
			Usage: "where Prometheus metrics are served; port 0 takes any free port",
		}, func(v []string) error { return setHostPort(&e.MetricsAddress, v) }, false},
		{Setting{
			Key: "log.level", Value: "LEVEL", Default: "info",
			Usage: "what is logged: debug, info, warn, or error",
		}, func(v []string) error { return setChoice(&e.LogLevel, v, "debug", "info", "warn", "error") }, false},
		{Setting{
			Key: "log.format", Value: "FORMAT", Default: "text",
			Usage: "how it is logged: text or json",
		}, func(v []string) error { return setLogFormat(&e.LogJSON, v) }, false},
	}
}

func setPorts(to *destination.Ports, values []string) error {
	ports, err := destination.ParsePorts(strings.Join(values, ","))
	*to = ports
	return err
}
