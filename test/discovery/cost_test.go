package discovery_test

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube/index"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/kubeapi"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// requests notes what is asked of the API.
type requests struct {
	http.RoundTripper
	mu     sync.Mutex
	asked  []string // "GET services watch"
	agents []string
}

func (r *requests) RoundTrip(q *http.Request) (*http.Response, error) {
	path := strings.Split(q.URL.Path, "/")
	what := q.Method + " " + path[len(path)-1]
	if q.URL.Query().Has("watch") {
		what += " watch"
	}
	r.mu.Lock()
	r.asked, r.agents = append(r.asked, what), append(r.agents, q.UserAgent())
	r.mu.Unlock()
	return r.RoundTripper.RoundTrip(q)
}

func (r *requests) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.asked))
}

// discover runs a discovery of the namespace until the test ends.
func (l lab) discover(t *testing.T) (*kube.Discovery, *requests) {
	t.Helper()
	config, err := kubeapi.Connection{Kubeconfig: l.kubeconfig}.Config()
	if err != nil {
		t.Fatal(err)
	}
	var asked requests
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		asked.RoundTripper = rt
		return &asked
	})
	return l.run(t, config), &asked
}

func (l lab) run(t *testing.T, config *rest.Config) *kube.Discovery {
	t.Helper()
	d, err := kube.New(kube.Options{
		Config: config, Namespaces: []string{l.ns}, Log: slog.New(slog.DiscardHandler), ClusterDomain: "cluster.local",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); d.Run(ctx, nil) }()
	t.Cleanup(func() { cancel(); <-done })
	return d
}

// One watch of Services and one of slices is all that is asked of the API for what is
// there at the start, however much; a Service that is chosen later, whose slices the
// watch has passed over, costs one more request, and changes cost none.
func asksTheAPILittle(t *testing.T, l lab, one, two server) {
	t.Helper()
	for _, name := range []string{"a", "b", "c"} {
		l.service(t, name, "deployment-id", name)
		l.slice(t, name+"-1", name, one.ip)
	}
	l.slice(t, "late-1", "late", one.ip)
	d, asked := l.discover(t)
	until(t, "it is ready", func() bool { return d.Waiting() == "" })
	for _, name := range []string{"a", "b", "c"} {
		if target, err := d.Resolve(name, false); err != nil || target.Address != one.ip+":5432" {
			t.Errorf("%s: %+v, %v", name, target, err)
		}
	}
	watches := []string{"GET endpointslices watch", "GET services watch"}
	if got := asked.all(); !slices.Equal(got, watches) {
		t.Errorf("asked %q, want one watch each", got)
	}
	l.service(t, "late", "deployment-id", "late")
	address := func(name string) string {
		target, _ := d.Resolve(name, false)
		return target.Address
	}
	until(t, "the slice of a Service that came later is known", func() bool { return address("late") == one.ip+":5432" })
	l.slice(t, "a-1", "a", two.ip)
	until(t, "a change is known", func() bool { return address("a") == two.ip+":5432" })
	if got, want := asked.all(), append([]string{"GET endpointslices"}, watches...); !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
	for _, agent := range asked.agents {
		if !strings.HasPrefix(agent, "gatehouse/") {
			t.Errorf("it says that it is %q", agent)
		}
	}
}

// A router without rights says which it lacks.
func TestWithoutRights(t *testing.T) {
	l := newLab(t, cluster.Shared(t))
	file := l.ServiceAccount(t, l.ns, "nobody")
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	d := l.run(t, config)
	until(t, "it says what is forbidden", func() bool {
		why := d.Waiting()
		return strings.HasPrefix(why, "the first list of Services in namespace "+l.ns+": services is forbidden: User ") && strings.Contains(why, `resource "services"`)
	})
	if _, err := kube.Look(t.Context(), kube.Options{Config: config, Options: index.Options{}}); err == nil || !strings.HasPrefix(err.Error(), "the Services cannot be listed: services is forbidden: ") {
		t.Errorf("one look: %v", err)
	}
}

var _ discovery.Resolver = (*kube.Discovery)(nil)
