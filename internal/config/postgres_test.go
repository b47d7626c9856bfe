package config

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/proxyprotocol"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/servertls"
)

// router loads from an environment, whose RUNTIME is vm, and flags written "name=value".
func router(environ []string, flags ...string) (LoadedPostgres, error) {
	return LoadPostgres(Source{
		Watch:   true,
		Environ: append([]string{"RUNTIME=vm"}, environ...),
		Flag: func(name string) ([]string, bool) {
			var values []string
			for _, f := range flags {
				if value, ok := strings.CutPrefix(f, name+"="); ok {
					values = append(values, value)
				}
			}
			return values, values != nil
		},
	})
}

const oneBackend = "STATIC_BACKENDS=orders=127.0.0.1:5433"

func TestPostgresDefaults(t *testing.T) {
	got, err := router([]string{oneBackend})
	if err != nil {
		t.Fatal(err)
	}
	want := Postgres{
		Discovery: DiscoveryStatic, Kubernetes: Kubernetes{Namespace: "default", ClusterDomain: "cluster.local"},
		Backends: []discovery.Backend{{Deployment: "orders", Host: "127.0.0.1", Port: 5433}},
		Runtime:  RuntimeVM, ListenAddress: netip.MustParseAddr("127.0.0.1"), Port: 5432, HealthPort: 8080,
		TLS:           TLS{Enabled: true, Mode: TLSMemory, AutoGenerate: true, AutoRenew: true, RenewalThreshold: 30 * 24 * time.Hour},
		ServerTLS:     ServerTLS{Mode: servertls.Disable},
		ProxyProtocol: proxyprotocol.Policy{Mode: proxyprotocol.Off},
		Limits:        Limits{AuthWindow: time.Minute}, AdminAddress: "127.0.0.1:19020",
		MaxConnections: 10_000, DialTimeout: 10 * time.Second,
		CancelPeers: CancelPeers{Port: 7432},
	}
	if diff := cmp.Diff(want, got.Postgres, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if len(got.Warnings) > 0 {
		t.Errorf("warnings %q", got.Warnings)
	}
	if got.Postgres.Address() != "127.0.0.1:5432" || got.Postgres.HealthAddress() != "127.0.0.1:8080" {
		t.Errorf("addresses %s and %s", got.Postgres.Address(), got.Postgres.HealthAddress())
	}
}

func TestPostgresSettings(t *testing.T) {
	cert, key := pemFile(t, "tls.crt"), pemFile(t, "tls.key")
	files := []string{oneBackend, "TLS_CERT_FILE=" + cert, "TLS_KEY_FILE=" + key}
	for _, c := range []struct {
		name    string
		environ []string
		flags   []string
		got     func(Postgres) any
		want    any
	}{
		{"port", []string{"PROXY_START_PORT=6000"}, nil, func(p Postgres) any { return p.Port }, 6000},
		{"older port wins", []string{"PROXY_START_PORT=6000", "POSTGRESQL_PROXY_START_PORT=7000"}, nil, func(p Postgres) any { return p.Port }, 7000},
		{"flag beats both", []string{"PROXY_START_PORT=6000", "POSTGRESQL_PROXY_START_PORT=7000"}, []string{"proxy-start-port=8000"}, func(p Postgres) any { return p.Port }, 8000},
		{"empty is unset", []string{"PROXY_START_PORT=", "POSTGRESQL_PROXY_START_PORT="}, nil, func(p Postgres) any { return p.Port }, 5432},
		{"any port", []string{"PROXY_START_PORT=0", "HEALTH_SERVER_PORT=0"}, nil, func(p Postgres) any { return p.HealthPort }, 0},
		{"in a cluster", []string{"RUNTIME=K8S"}, nil, Postgres.addressAny, "0.0.0.0:5432"},
		{"in a container", []string{"RUNTIME=docker"}, nil, Postgres.addressAny, "0.0.0.0:5432"},
		{"on a machine", []string{"RUNTIME=bare-metal"}, nil, Postgres.addressAny, "127.0.0.1:5432"},
		{"address", []string{"RUNTIME=k8s", "LISTEN_ADDRESS=::1"}, nil, Postgres.addressAny, "[::1]:5432"},
		{"unlimited", []string{"MAX_CONNECTIONS=0"}, nil, func(p Postgres) any { return p.MaxConnections }, 0},
		{"admin", []string{"ADMIN_ADDRESS=[::1]:0"}, nil, func(p Postgres) any { return p.AdminAddress }, "[::1]:0"},
		{"limits", []string{"MAX_CONNECTIONS_PER_DEPLOYMENT=90", "MAX_CONNECTIONS_PER_NETWORK=50", "MAX_AUTH_FAILURES=10", "AUTH_FAILURE_WINDOW_SECONDS=30"}, nil, func(p Postgres) any { return p.Limits }, Limits{90, 50, 10, 30 * time.Second}},
		{"dial", []string{"DIAL_TIMEOUT_SECONDS=3"}, nil, func(p Postgres) any { return p.DialTimeout }, 3 * time.Second},
		{"debug", []string{"DEBUG=1"}, nil, func(p Postgres) any { return p.Debug }, true},
		{"debug off", []string{"DEBUG=True"}, []string{"debug=false"}, func(p Postgres) any { return p.Debug }, false},
		{"PROXY protocol", []string{"PROXY_PROTOCOL=required", "PROXY_PROTOCOL_TRUSTED=10.0.0.0/8, ::1"}, nil, func(p Postgres) any { return fmt.Sprint(p.ProxyProtocol) }, "{required [10.0.0.0/8 ::1/128]}"},
		{"suffix", []string{"SNI_SUFFIX=db.example"}, nil, func(p Postgres) any { return p.SNISuffix }, "db.example"},
		{"no TLS", []string{"TLS_ENABLED=f"}, nil, func(p Postgres) any { return p.TLS.Enabled }, false},
		{"files", files, nil, func(p Postgres) any { return p.TLS.Mode }, TLSFile},
		{"files by name", append(slices.Clone(files), "TLS_MODE=filesystem"), nil, func(p Postgres) any { return p.TLS.CertFile }, cert},
		{"memory", []string{"TLS_MODE=In-Memory"}, nil, func(p Postgres) any { return p.TLS.Mode }, TLSMemory},
		{"days", []string{"TLS_RENEWAL_THRESHOLD_DAYS=7"}, nil, func(p Postgres) any { return p.TLS.RenewalThreshold }, 7 * 24 * time.Hour},
		{"older self-signed only says yes", []string{"TLS_ENABLE_SELF_SIGNED=false"}, nil, func(p Postgres) any { return p.TLS.Mode }, TLSMemory},
		{"older self-signed says yes", []string{"TLS_ENABLE_SELF_SIGNED=true", "TLS_AUTO_GENERATE=false"}, nil, func(p Postgres) any { return p.TLS.Mode }, TLSMemory},
		{"what asks for nothing", []string{"PROXY_PROTOCOL=off", "POSTGRESQL_PROXY_ENABLED=true"}, nil, func(p Postgres) any { return p.Port }, 5432},
		{"flags repeat", nil, []string{"static-backends=a=h:1,b=h:2", "static-backends=c=h:3"}, func(p Postgres) any { return len(p.Backends) }, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := router(append([]string{oneBackend}, c.environ...), c.flags...)
			if err != nil {
				t.Fatal(err)
			}
			if value := c.got(got.Postgres); value != c.want {
				t.Errorf("got %v, want %v", value, c.want)
			}
		})
	}
}

func (p Postgres) addressAny() any { return p.Address() }

func pemFile(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPostgresErrors(t *testing.T) {
	for _, c := range []struct{ environ, flag, want string }{
		{"PROXY_START_PORT=x", "", `$PROXY_START_PORT: "x" must be a port from 0 to 65535`},
		{"POSTGRESQL_PROXY_START_PORT=70000", "", `$POSTGRESQL_PROXY_START_PORT: "70000" must be a port from 0 to 65535`},
		{"HEALTH_SERVER_PORT=5432", "", `$HEALTH_SERVER_PORT: "5432" is also the port for clients; give each its own`},
		{"", "health-server-port=-1", `--health-server-port: "-1" must be a port from 0 to 65535`},
		{"DEBUG=yes", "", `$DEBUG: "yes" must be true or false`},
		{"TLS_ENABLED=on", "", `$TLS_ENABLED: "on" must be true or false`},
		{"RUNTIME=moon", "", `$RUNTIME: "moon" must be one of kubernetes, container, vm`},
		{"MAX_CONNECTIONS=-1", "", `$MAX_CONNECTIONS: "-1" must be a number of connections from 0 to 524288`},
		{"MAX_CONNECTIONS_PER_NETWORK=many", "", `$MAX_CONNECTIONS_PER_NETWORK: "many" must be a number of connections from 0 to 524288`},
		{"AUTH_FAILURE_WINDOW_SECONDS=0", "", `$AUTH_FAILURE_WINDOW_SECONDS: "0" must be a number of seconds from 1 to 86400`},
		{"ADMIN_ADDRESS=19020", "", `$ADMIN_ADDRESS: "19020" must be HOST:PORT`},
		{"DIAL_TIMEOUT_SECONDS=5s", "", `$DIAL_TIMEOUT_SECONDS: "5s" must be a number of seconds from 1 to 3600`},
		{"DIAL_TIMEOUT_SECONDS=0", "", `$DIAL_TIMEOUT_SECONDS: "0" must be a number of seconds from 1 to 3600`},
		{"LISTEN_ADDRESS=localhost", "", `$LISTEN_ADDRESS: "localhost" must be an IP address`},
		{"SNI_SUFFIX=.db", "", `$SNI_SUFFIX: ".db" must be a domain without a dot before it`},
		{"DATABASE_TYPE=mysql", "", `$DATABASE_TYPE: "mysql" must be postgresql`},
		{"DISCOVERY_MODE=dns", "", `$DISCOVERY_MODE: "dns" must be static or kubernetes`},
		{"TLS_MODE=acme", "", `$TLS_MODE: "acme" must be file, secret or memory`},
		{"TLS_MODE=file", "", "--tls-cert-file or $TLS_CERT_FILE: is missing\n--tls-key-file or $TLS_KEY_FILE: is missing"},
		{"TLS_KEY_FILE=/dev/null", "", `--tls-cert-file or $TLS_CERT_FILE: is missing`},
		{"", "tls-auto-generate=false", `--tls-auto-generate: "false" leaves no certificate`},
		{"TLS_AUTO_RENEW=false", "", `$TLS_AUTO_RENEW: "false" is not available`},
		{"TLS_ENABLE_SELF_SIGNED=2", "", `$TLS_ENABLE_SELF_SIGNED: "2" must be true or false`},
		{"POSTGRESQL_PROXY_ENABLED=yes", "", `$POSTGRESQL_PROXY_ENABLED: "yes" must be true or false`},
		{"PROXY_PROTOCOL=on", "", `$PROXY_PROTOCOL: "on" must be off, optional or required`},
		{"PROXY_PROTOCOL=required", "", `--proxy-protocol-trusted or $PROXY_PROTOCOL_TRUSTED: is missing: PROXY_PROTOCOL is required`},
		{"", "proxy-protocol=optional", `--proxy-protocol-trusted or $PROXY_PROTOCOL_TRUSTED: is missing: PROXY_PROTOCOL is optional`},
		{"PROXY_PROTOCOL_TRUSTED=10.0.0.1/8,x,::ffff:10.0.0.0/104,", "", "$PROXY_PROTOCOL_TRUSTED: has \"10.0.0.1/8\", an address inside of a network; write 10.0.0.0/8\n$PROXY_PROTOCOL_TRUSTED: has \"x\"; write networks\n" +
			"$PROXY_PROTOCOL_TRUSTED: has \"::ffff:10.0.0.0/104\"; write an IPv4 network\n$PROXY_PROTOCOL_TRUSTED: has \"\"; write networks"},
		{"STATIC_BACKENDS=a=h,b=h:1,c", "", "$STATIC_BACKENDS: entry 1 \"a=h\" has no port; write HOST:PORT, for example h:5432\n$STATIC_BACKENDS: entry 3 \"c\" has no \"=\""},
	} {
		_, err := router([]string{oneBackend, c.environ}, c.flag)
		if err == nil {
			t.Errorf("%s %s: no error", c.environ, c.flag)
			continue
		}
		for i, want := range strings.Split(c.want, "\n") {
			lines := strings.Split(err.Error(), "\n")
			if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
				t.Errorf("%s %s: got %q, want %q", c.environ, c.flag, lines, want)
			}
		}
	}
}

func TestPostgresTellsAllAtOnce(t *testing.T) {
	_, err := router([]string{"PROXY_START_PORT=x", "DEBUG=y", "TLS_SECRET_NAME=Z", "STATIC_BACKENDS=a,b"})
	all, ok := errors.AsType[Errors](err)
	if !ok || len(all) != 5 {
		t.Errorf("got %q, want five errors", err)
	}
}

func TestPostgresNeedsFilesThatExist(t *testing.T) {
	_, err := router([]string{oneBackend, "TLS_CERT_FILE=/nonexistent.crt", "TLS_KEY_FILE=/nonexistent.key"})
	want := `$TLS_CERT_FILE: "/nonexistent.crt" cannot be read: no such file or directory; name an existing PEM file`
	if err == nil || !strings.HasPrefix(err.Error(), want+"\n") {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestPostgresRequiredNeedsTLS(t *testing.T) {
	_, err := router([]string{oneBackend, "TLS_ENABLED=false", "TLS_REQUIRED=true"})
	if err == nil || !strings.HasPrefix(err.Error(), `$TLS_REQUIRED: "true" needs TLS`) {
		t.Errorf("got %v", err)
	}
}

func TestPostgresWarnings(t *testing.T) {
	for environ, want := range map[string]string{
		"PROXY_START_PORT=1 POSTGRESQL_PROXY_START_PORT=2": "environment variable PROXY_START_PORT has no effect: POSTGRESQL_PROXY_START_PORT is set too, and wins; unset one of them",
		"STATIC_BACKEND=x":                                    "environment variable STATIC_BACKEND is no setting and has no effect; did you mean STATIC_BACKENDS?",
		"AUTH_FAILURE_WINDOW_SECONDS=5":                       "$AUTH_FAILURE_WINDOW_SECONDS has no effect: MAX_AUTH_FAILURES is not set",
		"STATIC_BACKENDS=a.b=h:1":                             `$STATIC_BACKENDS has deployment "a.b", which no login can name; clients can by options or host name only`,
		"PROXY_PROTOCOL_TRUSTED=10.0.0.0/8":                   "$PROXY_PROTOCOL_TRUSTED has no effect: PROXY_PROTOCOL is off",
		"PROXY_PROTOCOL=optional PROXY_PROTOCOL_TRUSTED=::/0": "$PROXY_PROTOCOL_TRUSTED trusts everybody (::/0): who can connect can pretend to be anybody",
		"TLS_ENABLED=false TLS_CERT_FILE=/x":                  "$TLS_CERT_FILE has no effect: TLS is off, or its mode is not file",
		"PROXY_START_PORT=2 POSTGRESQL_PROXY_START_PORT=2":    "",
		"POD_NAMESPACE=x TLS_X=1 SSL_CERT_FILE=/etc/ca.pem":   "",
	} {
		got, err := router(append([]string{oneBackend}, strings.Fields(environ)...))
		if err != nil {
			t.Fatalf("%s: %v", environ, err)
		}
		if all := strings.Join(got.Warnings, "\n"); all != want {
			t.Errorf("%s: got %q, want %q", environ, all, want)
		}
	}
}

// Commands that serve nothing look at nothing else, and need nothing.
func TestPostgresOnly(t *testing.T) {
	got, err := LoadPostgres(Source{Environ: []string{"PROXY_START_PORT=x", "TLS_SECRET_NAME=y", oneBackend}, Only: []string{"staticBackends"}})
	if err != nil || len(got.Postgres.Backends) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := LoadPostgres(Source{Only: []string{"staticBackends"}}); err != nil {
		t.Error(err)
	}
}

func TestDetectRuntime(t *testing.T) {
	for path, want := range map[string]Runtime{
		"/var/run/secrets/kubernetes.io/serviceaccount": RuntimeKubernetes, "/.dockerenv": RuntimeContainer, "": RuntimeVM,
	} {
		if got := detectRuntime(func(p string) bool { return p == path }); got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
}
