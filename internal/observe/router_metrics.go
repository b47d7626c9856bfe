package observe

func (m *RouterMetrics) describeConnects(c *Catalog) {
	m.Connects = c.Counter(Metric{
		Name: "gatehouse_postgres_connects_total", Labels: []string{"deployment", "outcome", "sqlstate"},
		Help:  "Clients that asked for a session, by outcome: ready (logged in), passed (the server has answered in TLS that passes through), refused (by the router), server_refused (the login, by the server), or abandoned (by the client, or cut off), with the SQLSTATE that the client was told. The deployment is empty until it is known to exist.",
		Watch: "refused and server_refused beside ready; 08001 and 57P03 are servers that cannot be reached, 53300 are limits, 28P01 are wrong passwords.",
	})
	m.ConnectSeconds = c.Histogram(Metric{
		Name: "gatehouse_postgres_connect_seconds", Labels: []string{"phase"},
		Help:  "Time of the phases of a connect: startup (of the client, TLS included), hold (waiting for a server, between attempts), dial (attempts to connect to it), answer (the server's first), login (until it is ready), all.",
		Watch: "hold grows while servers are not ready or cannot be reached, dial with the network, answer and login with the server.",
	}, connecting)
	m.Held = c.Gauge(Metric{
		Name:  "gatehouse_postgres_held_sessions",
		Help:  "Clients that wait for a server now.",
		Watch: "Above 0 for longer than a roll-out takes, servers are missing; `/routes` names their deployments.",
	}).WithLabelValues()
	m.AuthFailures = c.Counter(Metric{
		Name: "gatehouse_postgres_auth_failures_total", Labels: []string{"deployment"},
		Help:  "Logins that the server refused (28P01, 28000).",
		Watch: "A sudden rate is a changed password, or somebody who guesses; MAX_AUTH_FAILURES slows the latter.",
	})
}

func (m *RouterMetrics) describeSessions(c *Catalog) {
	m.Sessions = c.Gauge(Metric{
		Name: "gatehouse_postgres_sessions", Labels: []string{"deployment"},
		Help:  "Sessions that have a server now.",
		Watch: "Compare with max_connections of the server and MAX_CONNECTIONS_PER_DEPLOYMENT.",
	})
	m.Ended = c.Counter(Metric{
		Name: "gatehouse_postgres_sessions_ended_total", Labels: []string{"deployment", "by"},
		Help:  "Sessions that ended, by who closed first: client, server, router, or forced (cut without a word).",
		Watch: "server while nobody restarts one is a server that crashes or ends sessions by a timeout.",
	})
	m.Bytes = c.Counter(Metric{
		Name: "gatehouse_postgres_bytes_total", Labels: []string{"deployment", "from"},
		Help:  "Bytes carried, by who sent them: client or server.",
		Watch: "Its rate is the traffic of a deployment, of sessions that go on included.",
	})
	m.Fenced = c.Counter(Metric{
		Name: "gatehouse_postgres_fenced_sessions_total", Labels: []string{"deployment"},
		Help:  "Sessions that were ended because their endpoint left the deployment.",
		Watch: "Follows failovers and roll-outs; anything else is an endpoint that comes and goes.",
	})
	m.Cancels = c.Counter(Metric{
		Name: "gatehouse_postgres_cancels_total", Labels: []string{"outcome"},
		Help:  "Cancels, by outcome: known (a session here), peer (of another replica), unknown, limited (too many), failed, unroutable (in clear, beside passthrough), vanished and cut (sent by the router itself).",
		Watch: "unknown with several replicas: set CANCEL_PEERS; limited or much unknown is somebody who guesses keys.",
	})
	m.CancelPeers = c.Counter(Metric{
		Name: "gatehouse_postgres_cancel_peer_questions_total", Labels: []string{"outcome"},
		Help:  "Questions about cancels between replicas, by outcome: asked_known, asked_unknown, asked_failed, asked_silent (no answer, or none soon after another one delivered the cancel), one for each peer that was asked; heard_known, heard_unknown and heard_failed that were answered; heard_malformed, heard_version, heard_forged (another key), heard_stale (clocks differ), heard_replayed and heard_busy that were dropped.",
		Watch: "asked_silent that lasts is a peer that cannot be reached, or has another key or clock; heard_forged or heard_replayed without a change of the key is somebody else on the port.",
	})
}

func (m *RouterMetrics) describeConnections(c *Catalog) {
	m.Connections = c.Gauge(Metric{
		Name: "gatehouse_postgres_connections", Labels: []string{"state"},
		Help:  "Connections of clients now: admitted (they count against MAX_CONNECTIONS), spoken (in their startup), silent (nothing was sent yet).",
		Watch: "admitted near MAX_CONNECTIONS; many silent ones are probes, or an attack.",
	})
	m.Dropped = c.Counter(Metric{
		Name: "gatehouse_postgres_connections_dropped_total", Labels: []string{"why"},
		Help:  "Connections closed without a word: full (beyond all limits), evicted (to make room during startup), untrusted (by the PROXY protocol's rules).",
		Watch: "Should not grow; raise MAX_CONNECTIONS, or find who connects and says nothing.",
	})
	m.AcceptFailures = c.Counter(Metric{
		Name:  "gatehouse_postgres_accept_failures_total",
		Help:  "Connections that could not be accepted, such as for want of file descriptors.",
		Watch: "Alert on any: raise the limit of open files.",
	}).WithLabelValues()
	m.HandshakeFailures = c.Counter(Metric{
		Name:  "gatehouse_postgres_tls_handshake_failures_total",
		Help:  "TLS handshakes of clients that failed.",
		Watch: "A rate after a change of the certificate is clients that do not trust it.",
	}).WithLabelValues()
	m.CertificateExpiry = c.Gauge(Metric{
		Name:  "gatehouse_postgres_certificate_expiry_timestamp_seconds",
		Help:  "When the certificate in use expires, in seconds since 1970; 0 without TLS, and before there is one.",
		Watch: "Alert when it is near: one that the router did not make itself is not renewed by it.",
	}).WithLabelValues()
	m.CertRefused = c.Gauge(Metric{
		Name:  "gatehouse_postgres_certificate_refused",
		Help:  "1 while the files or the Secret of the certificate hold what cannot be served; the one before serves on, if there is one.",
		Watch: "Alert on 1: a renewal has no effect. The log has the reason.",
	}).WithLabelValues()
}

func (m *RouterMetrics) describeDeployments(c *Catalog) {
	m.Deployments = c.Gauge(Metric{
		Name:  "gatehouse_postgres_deployments",
		Help:  "Deployments that clients can reach, poolers included.",
		Watch: "A sudden drop is a label or a namespace that was changed.",
	}).WithLabelValues()
	m.Problems = c.Gauge(Metric{
		Name: "gatehouse_postgres_discovery_problems", Labels: []string{"reason"},
		Help:  "What is wrong with Services that want to be deployments now, by reason; conflicts between two are one. APIUnavailable is 1 while the Kubernetes API does not answer: what was found before stays in use.",
		Watch: "Should be 0; Events of the Services and `gatehouse postgres explain` say more.",
	})
	m.Ready = c.Gauge(Metric{
		Name:  "gatehouse_postgres_ready",
		Help:  "1 while new sessions are welcome, as `/ready` says.",
		Watch: "Alert on 0 for minutes: `/ready` says what it waits for.",
	}).WithLabelValues()
	m.Build = c.Gauge(Metric{
		Name: "gatehouse_postgres_build_info", Labels: []string{"version", "go"},
		Help:  "1, with the version of Gatehouse and of Go.",
		Watch: "Join it to other series to compare versions.",
	})
}
