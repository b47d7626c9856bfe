package clients

import (
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

const token = "token-of-the-test"

// api is the real lease API over three proxies: crawl/de-1 and crawl/de-2, one lease each,
// and crawl/fr-1, whose credentials are of each lease.
type api struct {
	*httptest.Server
	store   *lease.Waiting
	cut     atomic.Int64 // how many answers to calls that change something are still to be lost
	serving atomic.Pointer[error]

	mu     sync.Mutex
	offers map[string]*offer.Offer
}

// serve starts an API. Beside its own paths it has some for tests in other languages:
// POST /test/cut/N loses N answers, POST /test/remove/NAME removes a proxy.
func serve(t *testing.T) *api {
	t.Helper()
	a := &api{offers: make(map[string]*offer.Offer)}
	a.store = lease.NewWaiting(lease.NewMemory(lease.Options{Now: time.Now}), lease.WaitOptions{})
	for _, p := range []*egress_v1alpha1.Proxy{proxy("de-1", "de"), proxy("de-2", "de"), proxy("fr-1", "fr")} {
		o := offer.Of(p, &core_v1.Secret{Data: map[string][]byte{"lease-key": []byte(strings.Repeat("k", 32))}})
		a.offers[string(p.UID)] = o
		if err := a.store.Set(t.Context(), o.Lease); err != nil {
			t.Fatal(err)
		}
	}
	handler := discovery.New(discovery.Options{
		Store: a.store, Book: a, Token: token, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Serving: func() error {
			if p := a.serving.Load(); p != nil {
				return *p
			}
			return nil
		},
	})
	mux := http.NewServeMux()
	mux.Handle("/", a.losing(handler))
	mux.HandleFunc("POST /test/cut/{n}", func(_ http.ResponseWriter, r *http.Request) {
		var n int64
		_, _ = fmt.Sscan(r.PathValue("n"), &n)
		a.cut.Store(n)
	})
	mux.HandleFunc("POST /test/remove/{name}", func(_ http.ResponseWriter, r *http.Request) {
		a.remove(t, r.PathValue("name"))
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func proxy(name, country string) *egress_v1alpha1.Proxy {
	p := &egress_v1alpha1.Proxy{
		Namespace: "crawl", Name: name, UID: types.UID("uid-" + name),
		Spec: egress_v1alpha1.ProxySpec{
			Mode: egress_v1alpha1.Managed, Provider: "process", Zone: "z",
			Attributes: map[string]egress_v1alpha1.AttributeValue{"country": egress_v1alpha1.AttributeValue(country)},
			Capacity:   &egress_v1alpha1.Capacity{MaxLeases: 1},
		},
		Status: egress_v1alpha1.ProxyStatus{IP: "192.0.2." + name[3:], LatencyMillis: 20, Conditions: []meta_v1.Condition{
			{Type: egress_v1alpha1.Provisioned, Status: meta_v1.ConditionTrue}, {Type: egress_v1alpha1.Healthy, Status: meta_v1.ConditionTrue},
		}},
	}
	if country == "fr" {
		p.Spec.Auth = &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: "auth"}}
	}
	return p
}

// losing lets the API act, and then breaks the connection instead of answering.
func (a *api) losing(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || a.cut.Add(-1) < 0 {
			h.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
}

func (a *api) remove(t *testing.T, name string) {
	t.Helper()
	if err := a.store.Remove(t.Context(), "uid-"+name); err != nil {
		t.Error(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.offers, "uid-"+name)
}

// ByUID implements offer.Book.
func (a *api) ByUID(uid string) *offer.Offer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.offers[uid]
}

// All implements offer.Book.
func (a *api) All() iter.Seq[*offer.Offer] {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []*offer.Offer
	for _, o := range a.offers {
		all = append(all, o)
	}
	slices.SortFunc(all, func(x, y *offer.Offer) int { return strings.Compare(x.Lease.Name, y.Lease.Name) })
	return slices.Values(all)
}

func (a *api) client() *egress.Client { return &egress.Client{BaseURL: a.URL, Token: token} }

// active is how many leases there are.
func (a *api) active(t *testing.T) (n int) {
	t.Helper()
	counts, err := a.store.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		n += c
	}
	return n
}
