package fleetapi

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
)

// shell knows one Proxy, and those of more, or fails.
type shell struct {
	err  error
	more []explain.Known
}

func (s shell) Fleet(context.Context) (explain.Fleet, error) {
	proxies := append([]explain.Known{{Namespace: "crawl", Name: "fra-1", Origin: "a.yaml:1"}}, s.more...)
	return explain.Fleet{Source: "directory /x", Proxies: proxies}, s.err
}

func (s shell) Ready() error { return s.err }

// asks returns a client of a server that answers from s until the end of the test.
func asks(t *testing.T, s shell) admin.Client {
	t.Helper()
	server := httptest.NewServer(Handler(Options{Shell: s, Now: time.Now}))
	t.Cleanup(server.Close)
	return admin.Client{Address: server.Listener.Addr().String()}
}

func TestAnswers(t *testing.T) {
	c := asks(t, shell{})
	list, err := List(t.Context(), c)
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "fra-1" {
		t.Errorf("list %+v, error %v", list, err)
	}
	v, err := Why(t.Context(), c, "crawl/fra-1")
	if err != nil || v.Object.Name != "fra-1" || len(v.Steps) != 1 {
		t.Errorf("verdict %+v, error %v", v, err)
	}
	_, err = Why(t.Context(), c, "crawl/fra-2")
	if absent, ok := errors.AsType[*admin.AbsentError](err); !ok || len(absent.Closest) != 1 || absent.Closest[0] != "crawl/fra-1" {
		t.Errorf("error %v of a Proxy that was never seen", err)
	}
}

// TestANameAlone is of namespace default, or else the only one that is called so.
func TestANameAlone(t *testing.T) {
	c := asks(t, shell{more: []explain.Known{
		{Namespace: "default", Name: "both"},
		{Namespace: "crawl", Name: "both"},
		{Namespace: "a", Name: "many"},
		{Namespace: "b", Name: "many"},
	}})
	for name, want := range map[string]string{"fra-1": "crawl", "both": "default"} {
		if v, err := Why(t.Context(), c, name); err != nil || v.Object.Namespace != want {
			t.Errorf("%s: %+v, error %v", name, v.Object, err)
		}
	}
	if _, err := Why(t.Context(), c, "many"); err == nil || err.Error() != "namespaces a, b each have a Proxy many: name one, as NAMESPACE/many" {
		t.Errorf("error %v where two are called so", err)
	}
	_, err := Why(t.Context(), c, "none")
	if absent, ok := errors.AsType[*admin.AbsentError](err); !ok || absent.Name != "default/none" {
		t.Errorf("error %v where none is called so", err)
	}
}

func TestAShellThatCannotAnswer(t *testing.T) {
	c := asks(t, shell{err: errors.New("the fleet is starting")})
	for name, ask := range map[string]func() error{
		"list":  func() error { _, err := List(t.Context(), c); return err },
		"why":   func() error { _, err := Why(t.Context(), c, "crawl/fra-1"); return err },
		"ready": func() error { _, err := admin.Ask[string](t.Context(), c, "/readyz"); return err },
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), "the fleet is starting") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestNobodyAnswers(t *testing.T) {
	_, err := List(t.Context(), admin.Client{Address: "127.0.0.1:1"})
	if err == nil || !strings.Contains(err.Error(), "start it with 'gatehouse fleet --config DIR'") {
		t.Errorf("error %v", err)
	}
}
