package command

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// Values of --scheme.
const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
	schemeSOCKS = "socks5"
)

// FlagError is a value that cannot be used; wrong usage.
type FlagError struct {
	Flag, Value string
	Err         error
}

func (e *FlagError) Error() string {
	switch {
	case e.Flag == "":
		return e.Err.Error()
	case e.Value == "":
		return fmt.Sprintf("--%s: %v", e.Flag, e.Err)
	}
	return fmt.Sprintf("--%s %q: %v", e.Flag, e.Value, e.Err)
}

func (e *FlagError) Unwrap() error { return e.Err }

func wrong(flag, value, format string, args ...any) error {
	return &FlagError{flag, value, fmt.Errorf(format, args...)}
}

// name is what a client of RFC 9209 and a Kubernetes object can be called.
var name = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9.-]{0,62}$`)

// config checks all flags together and reads the files that they name.
func (o Options) config(log *slog.Logger) (forward.Config, *access.Policy, error) {
	c := forward.Config{Name: "gatehouse-forward", OnlySOCKS: o.Scheme == schemeSOCKS, Log: log}
	var errs [5]error
	policy, err := o.access()
	c.Access, errs[0] = policy, err
	c.Rules, errs[1] = o.rules()
	c.TLS, errs[2] = o.tls()
	c.Limits, errs[3] = o.limits()
	c.Egress, errs[4] = o.egress()
	if o.Instance != "" {
		c.Name = o.Instance
	}
	return c, policy, errors.Join(errs[:]...)
}

func (o Options) access() (*access.Policy, error) {
	p := &access.Policy{}
	if o.Instance != "" && !name.MatchString(o.Instance) {
		return p, wrong("instance", o.Instance, "not a name: 1 to 63 letters, digits, dots and dashes, a letter first")
	}
	var err error
	if p.Sources, err = prefixes("allow-sources", o.AllowSources); err != nil {
		return p, err
	}
	if o.AuthDir != "" {
		if p.Credentials, err = access.Load(o.AuthDir, o.Instance); err != nil {
			return p, &FlagError{"auth-dir", o.AuthDir, err}
		}
	}
	loopback, err := isLoopback("listen", o.Listen)
	if err != nil {
		return p, err
	}
	if p.Open = loopback && len(p.Sources) == 0; !p.Open && !p.Credentials.Any() && len(p.Sources) == 0 {
		return p, wrong("listen", o.Listen, "not loopback, and everybody could use the proxy: give --auth-dir with credentials or --allow-sources")
	}
	return p, nil
}

// isLoopback says whether nobody but this machine reaches an address.
func isLoopback(flag, address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, wrong(flag, address, "not HOST:PORT, for example 127.0.0.1:3128 or [::1]:3128")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false, wrong(flag, address, "port %q is not 0 to 65535", port)
	}
	if host == "" {
		return false, nil
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return false, wrong(flag, address, "host %q is no IP address", host)
	}
	return a.IsLoopback(), nil
}

func (o Options) rules() (destination.Rules, error) {
	allow, err := prefixes("allow-destinations", o.AllowDestinations)
	if err != nil {
		return destination.Rules{}, err
	}
	ports, err := destination.ParsePorts(o.AllowPorts)
	if err != nil {
		return destination.Rules{}, &FlagError{"allow-ports", o.AllowPorts, err}
	}
	return destination.Rules{Allow: allow, Ports: ports}, nil
}

// prefixes reads networks; an address is the network that has nothing else.
func prefixes(flag string, texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if a, err2 := netip.ParseAddr(text); err != nil && err2 == nil {
			p, err = a.Prefix(a.BitLen())
		}
		if err != nil || p.Addr().Is4In6() {
			return nil, wrong(flag, text, "not a network such as 192.0.2.0/24 or 2001:db8::/32, or an address")
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

func (o Options) tls() (*tls.Config, error) {
	switch {
	case o.Scheme != schemeHTTP && o.Scheme != schemeHTTPS && o.Scheme != schemeSOCKS:
		return nil, wrong("scheme", o.Scheme, "not http, https or socks5")
	case o.Scheme != schemeHTTPS && o.TLSCert+o.TLSKey != "":
		return nil, wrong("scheme", o.Scheme, "--tls-cert and --tls-key are only for https")
	case o.Scheme != schemeHTTPS:
		return nil, nil //nolint:nilnil // in clear
	case (o.TLSCert == "") != (o.TLSKey == "") || o.TLSCert == "" && o.AuthDir == "":
		return nil, wrong("scheme", o.Scheme, "give --tls-cert and --tls-key, or tls.crt and tls.key in --auth-dir")
	case o.TLSCert == "":
		o.TLSCert, o.TLSKey = filepath.Join(o.AuthDir, "tls.crt"), filepath.Join(o.AuthDir, "tls.key")
	}
	pair, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
	if err != nil {
		return nil, &FlagError{"tls-cert", o.TLSCert, err}
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}

func (o Options) limits() (forward.Limits, error) {
	l := forward.DefaultLimits()
	l.Connections, l.Connect, l.Idle, l.Drain = o.MaxConnections, o.ConnectTimeout, o.IdleTimeout, o.DrainTimeout
	for flag, d := range map[string]time.Duration{"connect-timeout": l.Connect, "idle-timeout": l.Idle, "drain-timeout": l.Drain} {
		if d <= 0 {
			return l, wrong(flag, d.String(), "must be above 0")
		}
	}
	if l.Connections < 1 {
		return l, wrong("max-connections", strconv.Itoa(l.Connections), "must be at least 1")
	}
	return l, nil
}

func (o Options) egress() (netip.Addr, error) {
	if o.EgressAddress == "" {
		return netip.Addr{}, nil
	}
	a, err := netip.ParseAddr(o.EgressAddress)
	if err != nil || a.IsUnspecified() {
		return netip.Addr{}, wrong("egress-address", o.EgressAddress, "not an IP address of this machine")
	}
	return a.Unmap(), nil
}
