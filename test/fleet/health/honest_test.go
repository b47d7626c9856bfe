package health

import (
	"context"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// honest starts a gatehouse-forward on loopback that connects from an address.
func honest(t *testing.T, change func(*forward.Config)) net.Addr {
	t.Helper()
	c := forward.Config{
		Name: "px-1", Access: &access.Policy{Open: true}, Limits: forward.DefaultLimits(), Log: slog.New(slog.DiscardHandler),
		Rules:  destination.Rules{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, Ports: must(destination.ParsePorts("1-65535"))},
		Egress: netip.MustParseAddr("127.0.0.2"),
	}
	c.Limits.Drain = 50 * time.Millisecond
	change(&c)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- forward.New(c).Run(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the proxy ended with %v", err)
		}
	})
	return ln.Addr()
}

// seen answers with the address that a request comes from.
func seen(w http.ResponseWriter, r *http.Request) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	_, _ = io.WriteString(w, host)
}

// target is a server on an address, in clear or not, and its URL.
func target(t *testing.T, address string, secure bool) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(seen))
	_ = s.Listener.Close()
	s.Listener = must(net.Listen("tcp", address))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if secure {
		s.TLS = targets.server(time.Hour, "127.0.0.1", "::1")
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// TestProxiesThatWork: a real proxy, in each scheme, with credentials and without, asked
// for targets in clear and not, by IPv4 and IPv6, is well, and so is where it connects
// from; with another password it is not.
func TestProxiesThatWork(t *testing.T) {
	urls := map[string]string{
		"http": target(t, "127.0.0.1:0", false), "https": target(t, "127.0.0.1:0", true), "nothing": "",
	}
	ways := map[string]func(*forward.Config){
		"open": func(*forward.Config) {},
		"password": func(c *forward.Config) {
			c.Access = &access.Policy{Credentials: access.Credentials{Username: "bob", Password: password}}
		},
		"lease key": func(c *forward.Config) {
			c.Access = &access.Policy{Credentials: access.Credentials{LeaseKey: []byte(strings.Repeat("k", 32)), Instance: "px-uid"}}
		},
	}
	for _, scheme := range []egress_v1alpha1.Scheme{egress_v1alpha1.HTTP, egress_v1alpha1.HTTPS, egress_v1alpha1.SOCKS5} {
		for way, access := range ways {
			at := honest(t, func(c *forward.Config) {
				access(c)
				if scheme == egress_v1alpha1.HTTPS {
					c.TLS = proxies.server(time.Hour, "127.0.0.1")
				}
			})
			for asked, url := range urls {
				t.Run(string(scheme)+" "+way+" asked for "+asked, func(t *testing.T) {
					works(t, object("uid", at, row{scheme: scheme, url: url}), way)
				})
			}
		}
	}
}

func works(t *testing.T, p *egress_v1alpha1.Proxy, way string) {
	t.Helper()
	p.Spec.HealthCheck.VerifyEgressIP = p.Spec.HealthCheck.URL != ""
	q := probed(t, as(p, way))
	got := health.Probe(t.Context(), q)
	if got.Class != health.OK {
		t.Errorf("%s: %s", got.Class, got.Message)
	}
	if want := netip.MustParseAddr("127.0.0.2"); q.Check.VerifyEgress && got.Egress != want {
		t.Errorf("the target saw %v, not %v", got.Egress, want)
	}
	q.Egress = netip.MustParseAddr("127.0.0.3")
	if got := health.Probe(t.Context(), q); q.Check.VerifyEgress && got.Class != health.WrongEgress {
		t.Errorf("it must come from %v: %s: %s", q.Egress, got.Class, got.Message)
	}
	q.Login = known("bob", "wrong")
	got = health.Probe(t.Context(), q)
	asks := q.Check.URL != "" || q.Scheme == string(egress_v1alpha1.SOCKS5)
	if way != "open" && asks && got.Class != health.AuthFailed {
		t.Errorf("with another password: %s: %s", got.Class, got.Message)
	}
}

// TestATargetByIPv6, through each scheme of proxy.
func TestATargetByIPv6(t *testing.T) {
	for _, scheme := range []egress_v1alpha1.Scheme{egress_v1alpha1.HTTP, egress_v1alpha1.SOCKS5} {
		at := honest(t, func(c *forward.Config) { c.Egress = netip.Addr{} })
		for _, secure := range []bool{false, true} {
			p := object("uid", at, row{scheme: scheme, url: target(t, "[::1]:0", secure)})
			if got := health.Probe(t.Context(), probed(t, as(p, "open"))); got.Class != health.OK {
				t.Errorf("%s, secure %v: %s: %s", scheme, secure, got.Class, got.Message)
			}
		}
	}
}

// as is p with the Secret of a way to be let in.
func as(p *egress_v1alpha1.Proxy, way string) *egress_v1alpha1.Proxy {
	switch way {
	case "open":
		p.Spec.Auth = nil
	case "lease key": // which only instances of ours verify
		p.Spec.Mode, p.Spec.Provider = egress_v1alpha1.Managed, "process"
		p.Spec.Network = &egress_v1alpha1.Network{ExternalIP: new(false)}
		p.Status.IP, p.Spec.Endpoint.Host = p.Spec.Endpoint.Host, ""
	}
	return p
}

func known(username, password string) func(time.Time) offer.Credentials {
	return func(time.Time) offer.Credentials { return offer.Credentials{Username: username, Password: password} }
}
