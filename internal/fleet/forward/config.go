package forward

import (
	"crypto/tls"
	"log/slog"
	"net/netip"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// Config is what one proxy does. It is not changed after [New].
type Config struct {
	// Name is what Proxy-Status calls the proxy: a token of RFC 9110.
	Name   string
	Access Access
	// Routes reach targets; nil connects to them from here, as Rules allow.
	Routes Routes
	Rules  destination.Rules
	// Egress is the address that targets are dialled from; invalid for the system's choice.
	// A loopback address is for targets on loopback, which is all that can be reached from it.
	Egress netip.Addr
	// TLS is what clients shake hands with; nil for connections in clear.
	TLS *tls.Config
	// OnlySOCKS refuses HTTP.
	OnlySOCKS bool
	Limits    Limits
	Log       *slog.Logger
}

// Limits bound what clients can take. All are above 0.
type Limits struct {
	// Connections are those of clients that were let in.
	Connections int
	// Startup is how long a client may take for TLS, or for the head of a request.
	Startup time.Duration
	// Connect is how long the look-up of a target and the connection to it may take.
	Connect time.Duration
	// Idle is how long nothing may pass, in a tunnel, in a request, or between two.
	Idle time.Duration
	// Drain is how long what is under way may go on once the proxy goes away.
	Drain time.Duration
}

// DefaultLimits returns what a proxy does without being told.
func DefaultLimits() Limits {
	return Limits{Connections: 8192, Startup: 15 * time.Second, Connect: 15 * time.Second, Idle: 5 * time.Minute, Drain: 30 * time.Second}
}

// Keys of the log.
const (
	keyAddress  = "address"
	keyClient   = "client"
	keyError    = "error"
	keyLease    = "lease"
	keyProtocol = "protocol"
	keyTarget   = "target"
	keyTotal    = "total"
	keyWait     = "wait"
)
