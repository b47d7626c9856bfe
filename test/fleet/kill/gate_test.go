package kill_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

// gate stands before an API server, and lets everything pass but the writes of Proxies
// that it is told to hold: those wait until who sent them has ended.
type gate struct {
	url  string
	pass *httputil.ReverseProxy
	// held has what is held, one at a time.
	held chan string

	mu    sync.Mutex
	where string // as in fakegce
	calls []string
}

// newGate is before the API server of a configuration, as whoever that is.
func newGate(t *testing.T, c *rest.Config) *gate {
	t.Helper()
	transport, err := rest.TransportFor(c)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(c.Host)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{held: make(chan string)}
	g.pass = &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: transport, FlushInterval: -1,
		// Watches end with who was killed, and who was killed reads no answers.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

// kubeconfig is the path of a file for who passes the gate.
func (g *gate) kubeconfig(t *testing.T) string {
	t.Helper()
	c := api.NewConfig()
	c.Clusters["gate"] = &api.Cluster{Server: g.url}
	c.Contexts["gate"] = &api.Context{Cluster: "gate"}
	c.CurrentContext = "gate"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// hold begins to hold such calls, before or after they are carried out; none are all let
// through.
func (g *gate) hold(where string, calls ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.where, g.calls = where, calls
}

// stops says whether a call is held, and where.
func (g *gate) stops(call string) (where string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(g.calls, call) {
		return g.where
	}
	return ""
}

// ServeHTTP implements [http.Handler].
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := write(r)
	where := g.stops(call)
	if where == "" {
		g.pass.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body) // from here on the server sees when the client ends
	if err != nil {
		return
	}
	if where == fakegce.After {
		whole := r.WithContext(context.WithoutCancel(r.Context()))
		whole.Body = io.NopCloser(bytes.NewReader(body))
		g.pass.ServeHTTP(httptest.NewRecorder(), whole)
	}
	select {
	case g.held <- call:
		<-r.Context().Done()
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

// write names a write of a Proxy as paths do, and is empty for every other request.
func write(r *http.Request) string {
	switch {
	case r.Method == http.MethodGet || !strings.HasPrefix(r.URL.Path, "/apis/"+egress_v1alpha1.Group+"/"):
		return ""
	case strings.HasSuffix(r.URL.Path, "/status"):
		return "patch status"
	default:
		return "patch metadata"
	}
}
