package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/admin/admintest"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serveShop returns a client of a running shop.
func serveShop(t *testing.T) admin.Client {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- admin.Serve(ctx, l, admin.Handler(admin.Options{Reporter: admintest.Shop()})) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return admin.Client{Address: l.Addr().String()}
}

func TestClient(t *testing.T) {
	c, ctx := serveShop(t), t.Context()
	if v, err := c.Verdict(ctx, "httproute", "shop/checkout"); err != nil || v.State != verdict.Partial || len(v.Steps) != 6 {
		t.Errorf("verdict %+v, %v", v, err)
	}
	if all, err := c.Verdicts(ctx, "httproute"); err != nil || len(all) != 5 {
		t.Errorf("%d verdicts, %v", len(all), err)
	}
	if all, err := c.Objects(ctx, ""); err != nil || len(all) != 4 {
		t.Errorf("%d objects, %v", len(all), err)
	}
	if o, err := c.Object(ctx, "gateway", "shop/edge"); err != nil || !json.Valid(o) {
		t.Errorf("object %s, %v", o, err)
	}
	if o, err := c.Overview(ctx); err != nil || o.Revision != 118 {
		t.Errorf("overview %+v, %v", o, err)
	}
	if v, err := c.Views(ctx); err != nil || len(v) != 4 || v[1].BehindFor != 3100*time.Millisecond {
		t.Errorf("views %+v, %v", v, err)
	}
}

func TestClientAbsent(t *testing.T) {
	c := serveShop(t)
	_, err := c.Verdict(t.Context(), "httproute", "shop/checkuot")
	absent, ok := errors.AsType[*admin.AbsentError](err)
	if !ok || absent.Closest[0] != "shop/checkout" || len(absent.Reasons) != 1 {
		t.Errorf("error %#v", err)
	}
	if _, err = c.Object(t.Context(), "httproute", "shop/checkuot"); err == nil || err.Error() != "HTTPRoute shop/checkuot was never seen" {
		t.Errorf("error %v", err)
	}
}

func TestClientEscapesNames(t *testing.T) {
	c := serveShop(t)
	_, err := c.Verdict(t.Context(), "httproute", "shop/a?b#c %")
	if absent, ok := errors.AsType[*admin.AbsentError](err); !ok || absent.Name != "shop/a?b#c %" {
		t.Errorf("error %v", err)
	}
}

func TestClientErrors(t *testing.T) {
	hang := make(chan struct{})
	handlers := map[string]http.HandlerFunc{
		"something else listens there (HTTP 404)": http.NotFound,
		"no answer within 50ms":                   func(_ http.ResponseWriter, r *http.Request) { <-hang },
	}
	for want, h := range handlers {
		server := httptest.NewServer(h)
		c := admin.Client{Address: server.Listener.Addr().String(), Timeout: 50 * time.Millisecond}
		_, err := c.Overview(t.Context())
		if _, ok := errors.AsType[*admin.UnreachableError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if want[0] == 'n' {
			close(hang)
		}
		server.Close()
	}
}

func TestClientOfNobody(t *testing.T) {
	_, err := admin.Client{Address: "127.0.0.1:1"}.Overview(t.Context())
	want := "no gatehouse answers at 127.0.0.1:1: start it with 'gatehouse run --config DIR' or pass --admin-address"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestServeEndsSlowRequests: a request that never ends does not keep the process.
func TestServeEndsSlowRequests(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	began := make(chan struct{})
	slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	})
	done, asked := make(chan error, 1), make(chan struct{})
	go func() { done <- admin.Serve(ctx, l, slow) }()
	go func() {
		defer close(asked)
		_, _ = admin.Client{Address: l.Addr().String()}.Overview(context.WithoutCancel(ctx))
	}()
	<-began
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it still serves")
	}
	<-asked
}
