package discovery_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
)

var _ discovery.Resolver = (*discovery.Table)(nil)

func table(t *testing.T, text string) *discovery.Table {
	t.Helper()
	backends, errs := discovery.ParseStatic(text)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return discovery.NewTable(backends)
}

func TestResolve(t *testing.T) {
	got, err := table(t, "orders=db:5433,orders.pool=[::1]:6432").Resolve("orders", true)
	want := discovery.Target{
		Backend: discovery.Backend{Deployment: "orders", Pooled: true, Host: "::1", Port: 6432},
		Address: "[::1]:6432",
	}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestResolveUnknown(t *testing.T) {
	plain, pooled := table(t, "orders=db:5433,Other=db:1"), table(t, "orders.pool=db:5433")
	for _, c := range []struct {
		in         *discovery.Table
		deployment string
		pooled     bool
		message    string
	}{
		{plain, "nowhere", false, `deployment "nowhere" is unknown`},
		{plain, "ORDERS", false, `deployment "ORDERS" is unknown`}, // case matters in a login
		{plain, "orders", true, `deployment "orders" has no pool`},
		{pooled, "orders", false, `deployment "orders" is served by its pool only`},
	} {
		_, err := c.in.Resolve(c.deployment, c.pooled)
		if unknown, ok := errors.AsType[*discovery.UnknownError](err); !ok || unknown.Deployment != c.deployment {
			t.Fatalf("got %v, want %s unknown", err, c.deployment)
		}
		if r := refusal(t, err); r.SQLSTATE != session.ConnectionFailed || r.Message != c.message || r.Hint == "" {
			t.Errorf("got %+v, want %s", r, c.message)
		}
	}
}

func TestNotReadyMayBeSoon(t *testing.T) {
	r := refusal(t, &discovery.NotReadyError{Deployment: "orders", Pooled: true})
	if r.SQLSTATE != session.CannotConnectNow || r.Message != `deployment "orders" has no server that is ready` {
		t.Errorf("got %+v", r)
	}
}

func refusal(t *testing.T, err error) *session.RefusalError {
	t.Helper()
	r, ok := errors.AsType[*session.RefusalError](err)
	if !ok {
		t.Fatalf("got %v, want what a client is told", err)
	}
	return r
}

func TestKnown(t *testing.T) {
	in := table(t, "orders=db:1,Orders.pool=db:1,BILLING.pool=db:1")
	for name, want := range map[string]string{
		"orders": "orders", "Orders": "Orders", "ORDERS": "Orders", "billing": "BILLING", "BILLING": "BILLING", "nowhere": "",
	} {
		if got, ok := in.Known(name); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %t; want %q", name, got, ok, want)
		}
	}
}

func TestAllIsSorted(t *testing.T) {
	got := slices.Collect(table(t, "b=db:1,a.pool=db:2,a=db:3").All())
	want := []discovery.Backend{
		{Deployment: "a", Host: "db", Port: 3},
		{Deployment: "a", Pooled: true, Host: "db", Port: 2},
		{Deployment: "b", Host: "db", Port: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("backends (-want +got):\n%s", diff)
	}
}

// A session asks for its server once; that may not cost it an allocation but for the address.
func BenchmarkResolve(b *testing.B) {
	var backends []discovery.Backend
	for i := range 100_000 {
		backends = append(backends, discovery.Backend{Deployment: "d" + strconv.Itoa(i), Host: "db", Port: 5432})
	}
	in := discovery.NewTable(backends)
	for b.Loop() {
		if _, err := in.Resolve("d77777", false); err != nil {
			b.Fatal(err)
		}
	}
}
