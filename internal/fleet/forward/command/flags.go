package command

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// Help is what both commands say of themselves.
const (
	Short   = "Run a forward proxy: HTTP, CONNECT and SOCKS5 on one port"
	Example = "  gatehouse-forward --listen 127.0.0.1:3128\n" +
		"  gatehouse-forward --listen :3128 --auth-dir /etc/gatehouse-forward --instance px-1"
	Long = "Clients show a user name and password, from the files username and password of --auth-dir, or the\n" +
		"credentials of a lease, which are verified with the file lease-key. Loopback, private and metadata\n" +
		"addresses are no destinations unless --allow-destinations names them; nor is any port that sends mail.\n" +
		"At SIGTERM it accepts nobody any more and gives what is under way --drain-timeout to end."
)

// Options are the flags as they were given.
type Options struct {
	Listen, Scheme, AuthDir, Instance string
	TLSCert, TLSKey                   string
	EgressAddress, StatusAddress      string
	AllowSources, AllowDestinations   []string
	AllowPorts                        string
	MaxConnections                    int
	ConnectTimeout, IdleTimeout       time.Duration
	DrainTimeout                      time.Duration
	Debug                             bool
}

// AddFlags adds all flags to a set, with their defaults.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	l := forward.DefaultLimits()
	f.StringVar(&o.Listen, "listen", "127.0.0.1:3128", "`HOST:PORT` for clients; without HOST, all addresses; port 0 is allowed")
	f.StringVar(&o.Scheme, "scheme", schemeHTTP, "what clients speak: http, https (http inside TLS) or socks5; SOCKS5 is understood with http and https too")
	f.StringVar(&o.AuthDir, "auth-dir", "", "`DIR` with the files username, password and lease-key, and tls.crt and tls.key for --scheme https; one that is missing is not used")
	f.StringVar(&o.Instance, "instance", "", "`NAME` of this instance, which the credentials of leases are made for")
	f.StringVar(&o.TLSCert, "tls-cert", "", "`FILE` with the certificate for --scheme https, as PEM; by default tls.crt of --auth-dir")
	f.StringVar(&o.TLSKey, "tls-key", "", "`FILE` with its private key; by default tls.key of --auth-dir")
	f.StringVar(&o.EgressAddress, "egress-address", "", "`IP` that targets are connected to from, loopback only those on loopback; empty leaves it to the system")
	f.StringVar(&o.StatusAddress, "status-address", "", "`HOST:PORT` for /healthz and /metrics, with credentials unless it is loopback; empty for nowhere")
	f.StringSliceVar(&o.AllowSources, "allow-sources", nil, "`CIDR` list of clients that need no credentials")
	f.StringSliceVar(&o.AllowDestinations, "allow-destinations", nil, "`CIDR` list of addresses that are destinations although they are loopback, private or ours")
	f.StringVar(&o.AllowPorts, "allow-ports", destination.DefaultPorts, "`LIST` of ports that are destinations; 25, 465 and 587 never are")
	f.IntVar(&o.MaxConnections, "max-connections", l.Connections, "connections of clients at most")
	f.DurationVar(&o.ConnectTimeout, "connect-timeout", l.Connect, "how long the look-up of a target and the connection to it may take")
	f.DurationVar(&o.IdleTimeout, "idle-timeout", l.Idle, "how long nothing may pass, in a tunnel, in a request or between two")
	f.DurationVar(&o.DrainTimeout, "drain-timeout", l.Drain, "how long what is under way may take to end after SIGTERM")
	f.BoolVar(&o.Debug, "debug", false, "log each tunnel")
}
