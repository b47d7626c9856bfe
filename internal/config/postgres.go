package config

import (
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/proxyprotocol"
)

// Postgres is the static configuration of "gatehouse postgres".
type Postgres struct {
	// Discovery says where servers are found: in Backends, the static table, or in
	// Kubernetes.
	Discovery  DiscoveryMode
	Backends   []discovery.Backend
	Kubernetes Kubernetes
	Runtime    Runtime
	// ListenAddress is bound by the listeners of clients and of health: by default
	// 0.0.0.0 in a cluster or container, 127.0.0.1 elsewhere.
	ListenAddress netip.Addr
	// Port is for clients, HealthPort for health and metrics; 0 is any free port.
	Port, HealthPort int
	// AdminAddress answers /routes, host:port. AdminGiven is false for the default.
	AdminAddress string
	AdminGiven   bool
	TLS          TLS
	ServerTLS    ServerTLS
	// ProxyProtocol says from whom headers of the PROXY protocol are taken.
	ProxyProtocol proxyprotocol.Policy
	// SNISuffix is what host names of deployments end in, without the dot before it;
	// empty when host names route nothing.
	SNISuffix string
	// MaxConnections is 0 without a limit.
	MaxConnections int
	Limits         Limits
	// DialTimeout bounds the dial to a server, from 1 s to 1 h.
	DialTimeout time.Duration
	// CancelPeers are asked about cancels whose session is not here.
	CancelPeers CancelPeers
	// CancelOnDisconnect cancels what a vanished client has asked for.
	CancelOnDisconnect bool
	// Debug logs more.
	Debug bool
}

// Address is where clients connect, host:port.
func (p Postgres) Address() string { return p.address(p.Port) }

// HealthAddress is where health is asked for, host:port.
func (p Postgres) HealthAddress() string { return p.address(p.HealthPort) }

func (p Postgres) address(port int) string {
	return net.JoinHostPort(p.ListenAddress.String(), strconv.Itoa(port))
}

// Runtime is what a router runs in.
type Runtime string

// What a router may run in.
const (
	RuntimeKubernetes Runtime = "kubernetes"
	RuntimeContainer  Runtime = "container"
	RuntimeVM         Runtime = "vm"
)

// TLS is what a router offers to clients.
type TLS struct {
	Enabled bool
	// Required refuses sessions in clear.
	Required bool
	Mode     TLSMode
	// CertFile and KeyFile are absolute or relative to the working directory, and of file
	// mode; SecretName is an object in Kubernetes.Namespace, and of secret mode.
	CertFile, KeyFile, SecretName string
	// AutoGenerate makes the Secret while there is none; AutoRenew renews what was made
	// so. In memory mode both are true.
	AutoGenerate, AutoRenew bool
	// RenewalThreshold is how long before its end a certificate of ours is renewed, and
	// another one warned about.
	RenewalThreshold time.Duration
}

// TLSMode says where a certificate comes from.
type TLSMode string

// Where a certificate may come from.
const (
	TLSFile   TLSMode = "file"
	TLSSecret TLSMode = "secret"
	TLSMemory TLSMode = "memory"
)

// postgresGiven are the settings as given; Postgres is made of them.
type postgresGiven struct {
	Postgres
	listenAddress     string   // empty without one
	passthrough       []string // names of backends
	renewalDays       int
	dialSeconds       int
	authWindowSeconds int
}
