package config

import "slices"

// FleetSettings returns all settings of "gatehouse fleet" in order of the reference.
func FleetSettings() []Setting { return described(fleetSettings(new(Fleet))) }

// fleetSettings is the one table that flags, environment and reference are made from.
func fleetSettings(f *Fleet) []*setting {
	all := slices.Concat(fleetFilesTable(f), fleetKubernetesTable(f), fleetTable(f), fleetLeasesTable(f), fleetEgressTable(f), fleetGCTable(f), fleetProcessTable(f), fleetPodsTable(f), fleetCloudsTable(f), fleetLogTable(f))
	for _, s := range all {
		s.Flag = kebab(s.Key)
		s.Env = "GATEHOUSE_FLEET_" + variable(s.Flag)
	}
	return all
}

func fleetFilesTable(f *Fleet) []*setting {
	return []*setting{
		{Setting{
			Key: "config", Value: "DIR",
			Usage: "directory of Proxy and Secret documents to watch, where there is no cluster",
		}, func(v []string) error { return setText(&f.Config, v) }, false},
		{Setting{
			Key: "stateDir", Value: "DIR", Default: stateHome + "/gatehouse-fleet",
			Usage: "directory of the fleet's own knowledge, with --config; whoever loses it loses track of the instances",
		}, func(v []string) error { return setStateDir(&f.StateDir, v) }, false},
		{Setting{
			Key: "allowMassDelete", Default: "false",
			Usage: "let more than half of the Proxies of --config go at once",
		}, func(v []string) error { return setSwitch(&f.AllowMassDelete, v) }, false},
	}
}

func fleetTable(f *Fleet) []*setting {
	return []*setting{
		{Setting{
			Key: "providers", Value: "NAME,...",
			Usage: "providers that are on, of gcp, hetzner, kubernetes and process; by default process with --config, and kubernetes in a cluster",
		}, func(v []string) error { return setProviders(&f.Providers, v) }, false},
		{Setting{
			Key: "maxUnavailable", Value: "N|N%", Default: "10%",
			Usage: "how many Proxies, or how much of the fleet, may be replaced at once; at least one",
		}, func(v []string) error { return setMaxUnavailable(&f.MaxUnavailable, v) }, false},
		{Setting{
			Key: "providerRate", Value: "N",
			Usage: "requests per second that each provider gets; creates and deletes go first; by default 20, and 1 for hetzner, which allows 3600 an hour",
		}, func(v []string) error {
			if len(v) == 0 || v[0] == "" {
				return nil
			}
			return setNumber(&f.ProviderRate, v, "a number of requests", 1, 10_000)
		}, false},
		{Setting{
			Key: "adminAddress", Value: "HOST:PORT", Default: "127.0.0.1:19030",
			Usage: "where the fleet's admin API listens; port 0 takes any free port",
		}, func(v []string) error { return setHostPort(&f.AdminAddress, v) }, false},
		{Setting{
			Key: "metricsAddress", Value: "HOST:PORT", Default: "127.0.0.1:19031",
			Usage: "where Prometheus metrics are served; port 0 takes any free port",
		}, func(v []string) error { return setHostPort(&f.MetricsAddress, v) }, false},
	}
}

func fleetGCTable(f *Fleet) []*setting {
	return []*setting{
		{Setting{
			Key: "gcInterval", Value: "DURATION", Default: "10m",
			Usage: "how often instances that no Proxy owns are looked for",
		}, func(v []string) error { return setSpan(&f.GC.Interval, v, minSpan, maxSpan) }, false},
		{Setting{
			Key: "gcMinAge", Value: "DURATION", Default: "10m",
			Usage: "how old such an instance must be before it is deleted",
		}, func(v []string) error { return setSpan(&f.GC.MinAge, v, minSpan, maxSpan) }, false},
		{Setting{
			Key: "gcDryRun", Default: "false",
			Usage: "only log which instances would be deleted because no Proxy owns them",
		}, func(v []string) error { return setSwitch(&f.GC.DryRun, v) }, false},
		{Setting{
			Key: "gcAllowNamespaced", Default: "false",
			Usage: "look for such instances although --watch-namespaces hides Proxies of other namespaces; right only where no other fleet has the same cluster",
		}, func(v []string) error { return setSwitch(&f.GC.AllowNamespaced, v) }, false},
	}
}

func fleetCloudsTable(f *Fleet) []*setting {
	return []*setting{
		{Setting{
			Key: "forwardUrl", Value: "URL",
			Usage: "where instances of gcp and hetzner download gatehouse-forward, unless spec.cloudInit is given",
		}, func(v []string) error { return setURL(&f.Forward.URL, v) }, false},
		{Setting{
			Key: "forwardSha256", Value: "HEX",
			Usage: "SHA-256 of what --forward-url answers",
		}, func(v []string) error { return setSHA256(&f.Forward.SHA256, v) }, false},
		{Setting{
			Key: "gcpProject", Value: "NAME",
			Usage: "project of gcp where providerConfigRef names none",
		}, func(v []string) error { return setGCPProject(&f.GCP.Project, v) }, false},
		{Setting{
			Key: "gcpEndpoint", Value: "URL",
			Usage: "another address of the Compute Engine API, without authentication: for tests",
		}, func(v []string) error { return setURL(&f.GCP.Endpoint, v) }, false},
		{Setting{
			Key: "gcpReadOperations", Default: "false",
			Usage: "ask gcp why an accepted create came to nothing; needs the permission compute.zoneOperations.get",
		}, func(v []string) error { return setSwitch(&f.GCP.ReadOperations, v) }, false},
		{Setting{
			Key: "hetznerEndpoint", Value: "URL",
			Usage: "another address of the Hetzner Cloud API: for tests",
		}, func(v []string) error { return setURL(&f.Hetzner.Endpoint, v) }, false},
	}
}

func fleetLogTable(f *Fleet) []*setting {
	return []*setting{
		{Setting{
			Key: "log.level", Value: "LEVEL", Default: "info",
			Usage: "what is logged: debug, info, warn, or error",
		}, func(v []string) error { return setChoice(&f.LogLevel, v, "debug", "info", "warn", "error") }, false},
		{Setting{
			Key: "log.format", Value: "FORMAT", Default: "text",
			Usage: "how it is logged: text or json",
		}, func(v []string) error { return setLogFormat(&f.LogJSON, v) }, false},
	}
}
