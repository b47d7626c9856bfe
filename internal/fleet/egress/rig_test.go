package egress

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	client "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/token"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	fleet_access "github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

const apiToken = "token-of-the-api"

// leaseKey is what all proxies verify the credentials of leases with.
var leaseKey = []byte(strings.Repeat("k", 32))

// world is a lease API, with proxies that are real and targets see apart.
type world struct {
	t       testing.TB
	store   *lease.Memory
	api     *httptest.Server
	proxies map[string]*instance

	mu      sync.Mutex
	offers  map[string]*offer.Offer
	instead http.Handler
	renewed atomic.Int64 // calls
}

// instance is a proxy of the fleet.
type instance struct {
	*forward.Server
	object *egress_v1alpha1.Proxy
	egress string // what targets see
	end    func()
}

func (w *world) ByUID(uid string) *offer.Offer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.offers[uid]
}

func (w *world) All() iter.Seq[*offer.Offer] {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*offer.Offer
	for _, o := range w.offers {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b *offer.Offer) int { return strings.Compare(a.Lease.Name, b.Lease.Name) })
	return slices.Values(all)
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, store: lease.NewMemory(lease.Options{Now: time.Now}), offers: map[string]*offer.Offer{}, proxies: map[string]*instance{}}
	api := discovery.New(discovery.Options{
		Store: lease.NewWaiting(w.store, lease.WaitOptions{}), Book: w, Token: apiToken, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	w.api = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			w.renewed.Add(1)
		}
		w.mu.Lock()
		h := w.instead
		w.mu.Unlock()
		if h == nil {
			h = api
		}
		h.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		api.Stop()
		w.api.Close()
	})
	return w
}

// answer lets something else answer for the lease API; nil gives it back.
func (w *world) answer(h http.Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.instead = h
}

// add starts a proxy whose targets see 127.0.0.last.
func (w *world) add(name string, last int, change ...func(*egress_v1alpha1.Proxy, *forward.Config)) *instance {
	w.t.Helper()
	p := &egress_v1alpha1.Proxy{
		Namespace: "crawl", Name: name, UID: types.UID("uid-" + name),
		Spec: egress_v1alpha1.ProxySpec{
			Mode: egress_v1alpha1.Managed, Auth: &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: "auth"}},
			Endpoint: &egress_v1alpha1.Endpoint{Host: "127.0.0.1", Scheme: egress_v1alpha1.HTTP}, Attributes: map[string]egress_v1alpha1.AttributeValue{"name": egress_v1alpha1.AttributeValue(name)},
		},
		Status: egress_v1alpha1.ProxyStatus{IP: "127.0.0.1", Conditions: []meta_v1.Condition{
			{Type: egress_v1alpha1.Provisioned, Status: meta_v1.ConditionTrue}, {Type: egress_v1alpha1.Healthy, Status: meta_v1.ConditionTrue},
		}},
	}
	i := &instance{object: p, egress: fmt.Sprintf("127.0.0.%d", last)}
	c := forward.Config{
		Name: name, Rules: open(w.t), Egress: netip.MustParseAddr(i.egress), Limits: forward.DefaultLimits(), Log: slog.New(slog.DiscardHandler),
		Access: &fleet_access.Policy{Credentials: fleet_access.Credentials{LeaseKey: leaseKey, Instance: provider.NameFromUID(string(p.UID))}},
	}
	c.Limits.Drain = 10 * time.Millisecond
	for _, f := range change {
		f(p, &c)
	}
	i.Server = forward.New(c)
	ln := listen(w.t)
	p.Spec.Endpoint.Port = int32(ln.Addr().(*net.TCPAddr).Port)
	i.end = run(w.t, i.Run, ln)
	w.proxies[name] = i
	w.offer(p)
	return i
}

// offer tells the lease API of a proxy.
func (w *world) offer(p *egress_v1alpha1.Proxy) {
	w.t.Helper()
	o := offer.Of(p, &core_v1.Secret{Data: map[string][]byte{"lease-key": leaseKey}})
	if ca := p.Annotations["ca"]; ca != "" {
		o.TLS = &offer.TLS{CA: []byte(ca)}
	}
	w.mu.Lock()
	w.offers[string(p.UID)] = o
	w.mu.Unlock()
	if err := w.store.Set(w.t.Context(), o.Lease); err != nil {
		w.t.Fatal(err)
	}
}

// open are rules that let loopback be reached.
func open(t testing.TB) destination.Rules {
	t.Helper()
	ports, err := destination.ParsePorts("1-65535")
	if err != nil {
		t.Fatal(err)
	}
	return destination.Rules{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Ports: ports}
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// run serves until the test ends, or the function that it returns is called.
func run(t testing.TB, serve func(context.Context, net.Listener) error, ln net.Listener) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, ln) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("a proxy ended with %v", err)
		}
	})
	t.Cleanup(end)
	return end
}

// super is a super-proxy.
type super struct {
	*Server
	address string
	end     func()
	log     *output
}

// start starts a super-proxy that everybody may use, unless change says otherwise.
func (w *world) start(change ...func(*Config)) *super {
	w.t.Helper()
	idle := &http.Transport{MaxIdleConnsPerHost: 64}
	w.t.Cleanup(idle.CloseIdleConnections)
	log := &output{}
	c := Config{
		Client: &client.Client{BaseURL: w.api.URL, Token: apiToken, HTTPClient: &http.Client{Transport: idle}},
		Rules:  open(w.t), Limits: forward.DefaultLimits(), Log: slog.New(slog.NewTextHandler(log, nil)),
	}
	c.Limits.Drain, c.Limits.Connect = 10*time.Millisecond, 2*time.Second
	for _, f := range change {
		f(&c)
	}
	s := &super{Server: New(c), log: log}
	ln := listen(w.t)
	s.address = ln.Addr().String()
	s.end = run(w.t, s.Run, ln)
	return s
}

// tokens lets in who has the token that it returns.
func tokens(t testing.TB, name, selector string) (secret string, change func(*Config)) {
	t.Helper()
	secret, line, err := token.New(name, selector)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	return secret, func(c *Config) {
		if c.Tokens, err = token.Open(path, c.Log); err != nil {
			t.Fatal(err)
		}
	}
}

// output is what was logged.
type output struct {
	mu sync.Mutex
	b  strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !yes() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("never: %s", what)
		}
	}
}

// active is how many leases there are.
func (w *world) active() (n int) {
	counts, err := w.store.Counts(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range counts {
		n += c
	}
	return n
}

// speaks makes a proxy of a scheme.
func speaks(scheme string) func(*egress_v1alpha1.Proxy, *forward.Config) {
	return func(p *egress_v1alpha1.Proxy, c *forward.Config) {
		if scheme == "https" {
			made := httptest.NewTLSServer(nil) // whose certificate is for 127.0.0.1
			made.Close()
			c.TLS = &tls.Config{Certificates: made.TLS.Certificates}
			p.Annotations = map[string]string{"ca": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate().Raw}))}
		}
		p.Spec.Endpoint.Scheme, c.OnlySOCKS = egress_v1alpha1.Scheme(scheme), scheme == "socks5"
	}
}
