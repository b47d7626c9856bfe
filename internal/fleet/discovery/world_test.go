package discovery_test

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

const token = "a token that nobody guesses"

// book has offers by UID.
type book map[string]*offer.Offer

func (b book) ByUID(uid string) *offer.Offer { return b[uid] }

func (b book) All() iter.Seq[*offer.Offer] {
	all := make([]*offer.Offer, 0, len(b))
	for _, o := range b {
		all = append(all, o)
	}
	slices.SortFunc(all, func(x, y *offer.Offer) int {
		return strings.Compare(x.Lease.Namespace+"/"+x.Lease.Name, y.Lease.Namespace+"/"+y.Lease.Name)
	})
	return slices.Values(all)
}

// proxy is one that is provisioned and healthy.
func proxy(name, address string, attributes ...string) *egress_v1alpha1.Proxy {
	p := &egress_v1alpha1.Proxy{
		Namespace: "crawl", Name: name, UID: types.UID("uid-" + name),
		Spec: egress_v1alpha1.ProxySpec{
			Mode: egress_v1alpha1.External, Endpoint: &egress_v1alpha1.Endpoint{Host: address, Port: 3128},
			Attributes: map[string]egress_v1alpha1.AttributeValue{}, Capacity: &egress_v1alpha1.Capacity{MaxLeases: 2},
		},
		Status: egress_v1alpha1.ProxyStatus{IP: address, LatencyMillis: 20, Conditions: []meta_v1.Condition{
			{Type: egress_v1alpha1.Provisioned, Status: meta_v1.ConditionTrue}, {Type: egress_v1alpha1.Healthy, Status: meta_v1.ConditionTrue},
		}},
	}
	for i := 0; i < len(attributes); i += 2 {
		p.Spec.Attributes[attributes[i]] = egress_v1alpha1.AttributeValue(attributes[i+1])
	}
	return p
}

// world is an API over a store in memory.
type world struct {
	*discovery.API
	store  lease.Granter
	memory *lease.Memory
	made   discovery.Options
	book   book
	log    *bytes.Buffer
	now    time.Time
	// seen has what was answered, if anybody wants to know.
	seen kept
	// inside is how many wait in the store for a lease.
	inside atomic.Int32
	// before is done before a test.
	before func(t *testing.T)
}

// counted counts who waits.
type counted struct {
	lease.Granter
	inside *atomic.Int32
}

func (c counted) AcquireWithin(ctx context.Context, r lease.Request, wait time.Duration) (lease.Lease, error) {
	if wait > 0 {
		c.inside.Add(1)
		defer c.inside.Add(-1)
	}
	return c.Granter.AcquireWithin(ctx, r, wait)
}

func (w *world) prepare(t *testing.T) {
	t.Helper()
	if w.before != nil {
		w.before(t)
	}
}

// start makes a world of three proxies: one that asks for nothing, one with a password,
// one that makes credentials for each lease. Changes are made to the options.
func start(t *testing.T, change ...func(*world, *discovery.Options)) *world {
	t.Helper()
	w := &world{book: book{}, log: &bytes.Buffer{}, now: time.Date(2026, 11, 30, 19, 0, 0, 123456789, time.UTC)}
	memory := lease.NewMemory(lease.Options{Now: func() time.Time { return w.now }})
	password, managed := proxy("de-2", "2001:db8::2", "country", "de", "kind", "vm"), proxy("fr-1", "192.0.2.3", "country", "fr")
	password.Spec.Auth = &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: "auth"}}
	managed.Spec.Auth, managed.Spec.Mode = password.Spec.Auth, egress_v1alpha1.Managed
	w.add(t, memory, proxy("de-1", "192.0.2.1", "country", "de"), nil)
	w.add(t, memory, password, map[string]string{"username": "bob", "password": "p@ss/word"})
	w.add(t, memory, managed, map[string]string{"lease-key": strings.Repeat("k", 32)})
	w.memory, w.store = memory, counted{lease.NewWaiting(memory, lease.WaitOptions{}), &w.inside}
	o := discovery.Options{
		Store: w.store, Book: w.book, Token: token, Now: func() time.Time { return w.now },
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(w, &o)
	}
	w.API, w.made = discovery.New(o), o
	return w
}

// options are those of the API, with a change.
func (w *world) options(change func(*discovery.Options)) discovery.Options {
	o := w.made
	change(&o)
	return o
}

func offerOf(p *egress_v1alpha1.Proxy) *offer.Offer { return offer.Of(p, nil) }

func (w *world) add(t *testing.T, s lease.Store, p *egress_v1alpha1.Proxy, secret map[string]string) {
	t.Helper()
	sealed := &core_v1.Secret{Data: map[string][]byte{}}
	for key, value := range secret {
		sealed.Data[key] = []byte(value)
	}
	o := offer.Of(p, sealed)
	w.book[string(p.UID)] = o
	if err := s.Set(t.Context(), o.Lease); err != nil {
		t.Fatal(err)
	}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
	fields map[string]any // of a JSON object
}

// ask sends a request with the token. A header is "Name: value", and replaces the token if
// it is of that name; a name alone removes it.
func (w *world) ask(t *testing.T, method, target, body string, headers ...string) answer {
	t.Helper()
	r := w.request(t, method, target, body)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Del(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	return w.send(t, r)
}

func (*world) request(t *testing.T, method, target, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func (w *world) send(t *testing.T, r *http.Request) answer {
	t.Helper()
	recorder := httptest.NewRecorder()
	w.ServeHTTP(recorder, r)
	a := answer{status: recorder.Code, header: recorder.Header(), body: recorder.Body.String()}
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(recorder.Body.Bytes(), &a.fields); err != nil {
			t.Errorf("%s %s: %q is no JSON: %v", r.Method, r.URL, a.body, err)
		}
	}
	conform(t, r, a, w.seen)
	return a
}

// at returns a value within the body, nil without: "proxy.url".
func (a answer) at(path string) any {
	var value any = a.fields
	for part := range strings.SplitSeq(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[part]
	}
	return value
}

// want compares the status and values, which are pairs of path and value.
func (a answer) want(t *testing.T, status int, pairs ...any) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.body)
	}
	for i := 0; i < len(pairs); i += 2 {
		if got := a.at(pairs[i].(string)); got != pairs[i+1] { //nolint:forcetypeassert // ours
			t.Errorf("%s is %#v, want %#v: %s", pairs[i], got, pairs[i+1], a.body)
		}
	}
}
