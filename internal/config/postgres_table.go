package config

import "slices"

// PostgresSettings returns all settings of "gatehouse postgres" in order of the reference.
func PostgresSettings() []Setting { return described(postgresSettings(new(postgresGiven))) }

// postgresSettings is the one table that flags, environment and reference of the router
// are made from. Its variables have no prefix, as deployments of the xdatabase-proxy know
// them. What is set goes to p.
func postgresSettings(p *postgresGiven) []*setting {
	all := slices.Concat(servingTable(p), kubernetesTable(p), tlsTable(p), passthroughTable(p), serverTLSTable(p), proxyProtocolTable(p), cancelTable(p), limitsTable(p), adminTable(p))
	for _, s := range all {
		s.Flag = kebab(s.Key)
		s.Env = variable(s.Flag)
	}
	return all
}

func servingTable(p *postgresGiven) []*setting {
	return []*setting{
		{Setting{
			Key: "staticBackends", Value: "ID=HOST:PORT,...", Offline: true,
			Usage: "servers by deployment, orders=10.0.0.5:5432, and their poolers, orders.pool=[::1]:6432; may be repeated",
		}, func(v []string) error { return setBackends(&p.Backends, v) }, false},
		{Setting{
			Key: "sniSuffix", Value: "DOMAIN", Offline: true,
			Usage: "let clients name the deployment by host name, DEPLOYMENT.DOMAIN or DEPLOYMENT.pool.DOMAIN",
		}, func(v []string) error { return setDomain(&p.SNISuffix, v) }, false},
		{Setting{
			Key: "databaseType", Value: "TYPE", Default: "postgresql",
			Usage: "protocol to serve; postgresql is the only one",
		}, checkDatabaseType, false},
		{Setting{
			Key: "listenAddress", Value: "IP",
			Usage: "address to bind; by default 0.0.0.0 where the runtime is kubernetes or container, else 127.0.0.1",
		}, func(v []string) error { return setOptionalAddress(&p.listenAddress, v) }, false},
		{Setting{
			Key: "proxyStartPort", Value: "PORT", Default: "5432", Older: "POSTGRESQL_PROXY_START_PORT",
			Usage: "port for clients; 0 takes any free port",
		}, func(v []string) error { return setPort(&p.Port, v) }, false},
		{Setting{
			Key: "healthServerPort", Value: "PORT", Default: "8080",
			Usage: "port for health; 0 takes any free port",
		}, func(v []string) error { return setPort(&p.HealthPort, v) }, false},
		{Setting{
			Key: "runtime", Value: "RUNTIME",
			Usage: "what it runs in: kubernetes, container or vm; by default found out",
		}, func(v []string) error { return setRuntime(&p.Runtime, v) }, false},
		{Setting{
			Key: "maxConnections", Value: "N", Default: "10000",
			Usage: "most connections at once, further ones are told so; 0 is no limit",
		}, func(v []string) error {
			return setNumber(&p.MaxConnections, v, "a number of connections", 0, maxConnections)
		}, false},
		{Setting{
			Key: "dialTimeoutSeconds", Value: "SECONDS", Default: "10",
			Usage: "how long to try to reach a server",
		}, func(v []string) error { return setNumber(&p.dialSeconds, v, "a number of seconds", 1, 3600) }, false},
		{Setting{
			Key: "debug", Default: "false",
			Usage: "log more",
		}, func(v []string) error { return setSwitch(&p.Debug, v) }, false},
	}
}

func tlsTable(p *postgresGiven) []*setting {
	return []*setting{
		{Setting{
			Key: "tlsEnabled", Default: "true",
			Usage: "offer TLS to clients",
		}, func(v []string) error { return setSwitch(&p.TLS.Enabled, v) }, false},
		{Setting{
			Key: "tlsRequired", Default: "false",
			Usage: "refuse clients without TLS",
		}, func(v []string) error { return setSwitch(&p.TLS.Required, v) }, false},
		{Setting{
			Key: "tlsMode", Value: "MODE",
			Usage: "where the certificate comes from: file, secret or memory; by default what is named, else memory",
		}, func(v []string) error { return setTLSMode(&p.TLS.Mode, v) }, false},
		{Setting{
			Key: "tlsCertFile", Value: "FILE",
			Usage: "certificate chain in PEM, followed when it changes",
		}, func(v []string) error { return setText(&p.TLS.CertFile, v) }, true},
		{Setting{
			Key: "tlsKeyFile", Value: "FILE",
			Usage: "its private key in PEM",
		}, func(v []string) error { return setText(&p.TLS.KeyFile, v) }, true},
		{Setting{
			Key: "tlsSecretName", Value: "NAME",
			Usage: "Kubernetes Secret of type kubernetes.io/tls in the namespace that this runs in, followed when it changes",
		}, func(v []string) error { return setSecretName(&p.TLS.SecretName, v) }, false},
		{Setting{
			Key: "tlsAutoGenerate", Default: "true",
			Usage: "make a self-signed certificate where the mode is memory, or secret and there is none",
		}, func(v []string) error { return setSwitch(&p.TLS.AutoGenerate, v) }, false},
		{Setting{
			Key: "tlsAutoRenew", Default: "true",
			Usage: "make a new one in time where one was made",
		}, func(v []string) error { return setSwitch(&p.TLS.AutoRenew, v) }, false},
		{Setting{
			Key: "tlsRenewalThresholdDays", Value: "DAYS", Default: "30",
			Usage: "how long before its end a certificate is renewed, or warned about",
		}, func(v []string) error { return setNumber(&p.renewalDays, v, "a number of days", 1, 300) }, false},
	}
}

// maxConnections is as many as a process may have descriptors for.
const maxConnections = 1 << 19
