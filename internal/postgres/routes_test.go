package postgres_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
)

// routes asks a router as an HTTP client does.
func routes(t *testing.T, router *postgres.Router, accept string) string {
	t.Helper()
	q := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/routes", http.NoBody)
	q.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	router.Admin().ServeHTTP(w, q)
	return w.Body.String()
}

// Every deployment, its endpoints, and who is where: one that is ready, one that is not
// and keeps its session, one that has left while a session is still at it, and a client
// that waits for the pooler.
func TestRoutes(t *testing.T) {
	here, left := serveScript(t, loopback(t), loggedIn), serveScript(t, loopback(t), loggedIn)
	resolver := newEndpoints(here.Addr().String())
	router, address := serve(t, postgres.Options{
		Resolver: resolver, DialTimeout: time.Hour,
		Endpoints: func(discovery.Backend) []postgres.Endpoint {
			return []postgres.Endpoint{{Address: here.Addr().String(), Ready: true}, {Address: "10.0.0.9:5432"}}
		},
	})
	expect(t, start(t, address, "bob.orders"), loggedIn)
	resolver.set([]string{left.Addr().String()}, nil)
	expect(t, start(t, address, "bob.orders"), loggedIn)
	resolver.set(nil, nil)
	start(t, address, "bob.orders")
	eventually(t, "three sessions", func() bool { return postgres.Sessions(router) == 3 })

	var got struct{ Routes []postgres.Listing }
	if err := json.Unmarshal([]byte(routes(t, router, "*/*")), &got); err != nil {
		t.Fatal(err)
	}
	want := []postgres.Listing{{
		Deployment: "orders", Server: "orders.shop.svc:5432", Sessions: 2, Waiting: 1,
		Endpoints: []postgres.Endpoint{
			{Address: here.Addr().String(), Ready: true, Sessions: 1},
			{Address: "10.0.0.9:5432"},
			{Address: left.Addr().String(), Sessions: 1},
		},
	}}
	if diff := cmp.Diff(want, got.Routes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	table := strings.Fields(routes(t, router, "text/plain"))
	wantTable := []string{
		"DEPLOYMENT", "SERVICE", "ENDPOINT", "READY", "SESSIONS", "WAITING",
		"orders", "-", here.Addr().String(), "true", "1", "1",
		"orders", "-", "10.0.0.9:5432", "false", "0",
		"orders", "-", left.Addr().String(), "false", "1",
	}
	if diff := cmp.Diff(wantTable, table); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
}

// A static table has one endpoint each, and no deployment is an empty list.
func TestRoutesOfATable(t *testing.T) {
	router := postgres.New(postgres.Options{Resolver: table(t, "orders=db:5432", "orders.pool=db:6432")})
	for _, want := range []string{`"pooled":true`, `"endpoints":[{"address":"db:6432","ready":true,"sessions":0}]`} {
		if text := routes(t, router, "application/json"); !strings.Contains(text, want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	if text := routes(t, postgres.New(postgres.Options{Resolver: table(t)}), ""); text != "{\"routes\":[]}\n" {
		t.Errorf("got %q", text)
	}
}
