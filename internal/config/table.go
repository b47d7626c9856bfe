package config

import (
	"strings"
	"unicode"
)

// settings is the one table that flags, environment, file and reference are made from.
// What is set goes to r.
func settings(r *Run) []*setting {
	all := table(r)
	for _, s := range all {
		s.Flag = kebab(s.Key)
		s.Env = "GATEHOUSE_" + variable(s.Flag)
	}
	return all
}

// variable turns "admin-address" into "ADMIN_ADDRESS".
func variable(flag string) string { return strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// kebab turns "features.adminAddress" into "features-admin-address".
func kebab(key string) string {
	var b strings.Builder
	for _, c := range key {
		switch {
		case c == '.':
			b.WriteByte('-')
		case unicode.IsUpper(c):
			b.WriteByte('-')
			b.WriteRune(unicode.ToLower(c))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func table(r *Run) []*setting {
	return []*setting{
		{Setting{
			Key: "config", Value: "PATH", List: true,
			Usage: "file or directory of Gateway API objects to watch; may be repeated",
		}, func(v []string) error { return setPaths(&r.Paths, v) }, true},
		{Setting{
			Key: "controllerName", Value: "NAME", Default: "gatehouse.dev/gateway-controller", Offline: true,
			Usage: "serve the GatewayClasses whose spec.controllerName is this",
		}, func(v []string) error { return setControllerName(&r.ControllerName, v) }, false},
		{Setting{
			Key: "envoy", Value: "PATH",
			Usage: "Envoy binary; by default the one in PATH, then the one in Gatehouse's cache",
		}, func(v []string) error { return setText(&r.Envoy, v) }, true},
		{Setting{
			Key: "bindAddress", Value: "IP", Default: "127.0.0.1", Offline: true,
			Usage: "address that listeners bind when their Gateway has no spec.addresses",
		}, func(v []string) error { return setAddress(&r.BindAddress, v) }, false},
		{Setting{
			Key: "adminAddress", Value: "HOST:PORT", Default: "127.0.0.1:19000",
			Usage: "where the admin API and page listen; port 0 takes any free port",
		}, func(v []string) error { return setHostPort(&r.AdminAddress, v) }, false},
		{Setting{
			Key: "metricsAddress", Value: "HOST:PORT", Default: "127.0.0.1:19001",
			Usage: "where Prometheus metrics are served; port 0 takes any free port",
		}, func(v []string) error { return setHostPort(&r.MetricsAddress, v) }, false},
		{Setting{
			Key: "stateDir", Value: "DIR", Default: stateHome + "/gatehouse",
			Usage: "directory for accepted revisions, sockets, and the proxies' logs",
		}, func(v []string) error { return setDirectory(&r.StateDir, v) }, true},
		{Setting{
			Key: "keepProxies", Default: "false",
			Usage: "let Envoys outlive Gatehouse; the next one adopts them",
		}, func(v []string) error { return setSwitch(&r.KeepProxies, v) }, false},
		{Setting{
			Key: "drainTimeout", Value: "DURATION", Default: "5s",
			Usage: "how long a stopping Envoy may finish requests",
		}, func(v []string) error { return setDuration(&r.DrainTimeout, v) }, false},
		{Setting{
			Key: "prover", Value: "MODE", Default: string(ProverPreferred),
			Usage: "try each change on an Envoy that serves nothing: require its verdict, prefer it and pass without, or off",
		}, func(v []string) error { return setProver(&r.Prover, v) }, false},
		{Setting{
			Key: "validators", Value: "FILE",
			Usage: "YAML file of your own validators: commands and gRPC services that see each change before any proxy",
		}, func(v []string) error { return setText(&r.ValidatorsFile, v) }, true},
		{Setting{
			Key: "xdsMaxReceiveBytes", Value: "BYTES", Default: "67108864",
			Usage: "largest request taken from an Envoy; one that connects again lists all that it has",
		}, func(v []string) error { return setBytes(&r.XDSMaxReceiveBytes, v, minReceive, maxReceive) }, false},
		{Setting{
			Key: "failMode", Value: "CLASS=MODE,...", Default: "certificates=retain,cas=retain,access=retain,deletions=retain",
			Usage: "retain or close the last accepted revision of a rejected input, by class; what is left out retains",
		}, func(v []string) error { return setFailModes(&r.FailModes, v) }, false},
		{Setting{
			Key: "features.xbackend", Default: "true", Offline: true,
			Usage: "read XBackend objects",
		}, func(v []string) error { return setSwitch(&r.Features.XBackend, v) }, false},
		{Setting{
			Key: "features.experimental", Default: "false", Offline: true,
			Usage: "read the experimental kinds and fields of Gateway API",
		}, func(v []string) error { return setSwitch(&r.Features.Experimental, v) }, false},
		{Setting{
			Key: "log.level", Value: "LEVEL", Default: "info",
			Usage: "what Gatehouse logs: debug, info, warn, or error",
		}, func(v []string) error { return setChoice(&r.LogLevel, v, "debug", "info", "warn", "error") }, false},
		{Setting{
			Key: "log.format", Value: "FORMAT", Default: "text",
			Usage: "how Gatehouse logs: text or json",
		}, func(v []string) error { return setLogFormat(&r.LogJSON, v) }, false},
	}
}
