package discovery_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// explained is what "gatehouse postgres explain" says, as far as it matters here.
type explained struct {
	Server, Service string
	Losers          []string
	Endpoints       []struct {
		Address string
		Ready   bool
	}
	Problems []string
	Known    []string
	Refusal  struct{ SQLSTATE string }
}

func (l lab) explain(t *testing.T, login string, flags ...string) explained {
	t.Helper()
	args := slices.Concat([]string{"postgres", "explain", login, "-o", "json", "--kubeconfig=" + l.kubeconfig, "--discovery-namespaces=" + l.ns}, flags)
	out, err := exec.CommandContext(t.Context(), os.Getenv("GATEHOUSE_POSTGRES_BINARY"), args...).Output()
	var said explained
	if json.Unmarshal(out, &said) != nil {
		t.Fatalf("explain says %q, %v", out, err)
	}
	return said
}

// events returns those of a Service, as "reason: message".
func (l lab) events(t *testing.T, service string) (all []string) {
	t.Helper()
	list, err := l.Client().CoreV1().Events(l.ns).List(t.Context(), meta_v1.ListOptions{FieldSelector: "involvedObject.kind=Service,involvedObject.name=" + service})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		all = append(all, e.Reason+": "+e.Message)
	}
	return all
}

// Of two Services that claim a deployment the older one serves it; the other one is told
// by an Event, by explain and in the log, once by however many routers.
func conflict(t *testing.T, l lab, first, second server) {
	t.Helper()
	l.service(t, "a-first")
	l.slice(t, "a-first-1", "a-first", first.ip)
	r, other := l.router(t).ready(t), l.router(t).ready(t)
	l.service(t, "b-second")
	l.slice(t, "b-second-1", "b-second", second.ip)
	until(t, "an Event says who serves", func() bool { return len(l.events(t, "b-second")) > 0 })
	until(t, "both routers say so", func() bool {
		return strings.Contains(r.Log.String(), "DeploymentConflict") && strings.Contains(other.Log.String(), "DeploymentConflict")
	})
	want := "Service " + l.ns + "/b-second is not used: deployment orders is served by Service " + l.ns + "/a-first, which is"
	if all := l.events(t, "b-second"); len(all) != 1 || !strings.HasPrefix(all[0], "DeploymentConflict: "+want) {
		t.Errorf("events %q", all)
	}
	const metric = `gatehouse_postgres_discovery_problems{reason="DeploymentConflict"} 1`
	if _, metrics := r.get(t, "/metrics"); !strings.Contains(metrics, metric) {
		t.Errorf("the metrics lack %s", metric)
	}
	if port := at(t, r.session(t, "postgres.orders")); port != first.Port {
		t.Errorf("a session is at port %d, want %d", port, first.Port)
	}
	said := l.explain(t, "postgres.orders")
	if said.Service != l.ns+"/a-first" || !slices.Equal(said.Losers, []string{l.ns + "/b-second"}) ||
		len(said.Problems) != 1 || !strings.HasPrefix(said.Problems[0], want) || said.Server != first.ip+":5432" {
		t.Errorf("explain says %+v", said)
	}
	if err := l.Client().CoreV1().Services(l.ns).Delete(t.Context(), "a-first", meta_v1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.goesTo(t, "postgres.orders", second)
	until(t, "the conflict is over", func() bool { return strings.Contains(r.Log.String(), "a problem of a Service is over") })
}

func TestExplainSaysWhyNobodyIsServed(t *testing.T) {
	l := newLab(t, cluster.Shared(t))
	l.service(t, "db")
	now := sliceOf("db-1", "db", "10.98.250.1")
	now.Endpoints[0].Conditions.Ready = new(false)
	l.apply(t, now)
	l.service(t, "pooler", "pooled", "yes")
	said := l.explain(t, "postgres.orders")
	if said.Refusal.SQLSTATE != "57P03" || len(said.Endpoints) != 1 || said.Endpoints[0].Address != "10.98.250.1:5432" || said.Endpoints[0].Ready {
		t.Errorf("explain says %+v", said)
	}
	said = l.explain(t, "postgres.orders.pool")
	if said.Refusal.SQLSTATE != "08001" || !slices.Equal(said.Known, []string{"orders"}) || len(said.Problems) != 1 ||
		!strings.Contains(said.Problems[0], `/pooler has label xdatabase-proxy-pooled="yes"`) {
		t.Errorf("explain says %+v", said)
	}
}

// A Service that leads out of the cluster is used where that is allowed only.
func externalName(t *testing.T, l lab, s, _ server) {
	t.Helper()
	external := l.service(t, "db")
	external.Spec = core_v1.ServiceSpec{
		Type: core_v1.ServiceTypeExternalName, ExternalName: s.ip, Ports: []core_v1.ServicePort{{Port: 5432}},
	}
	if _, err := l.Client().CoreV1().Services(l.ns).Update(t.Context(), external, meta_v1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	refusing := l.router(t, "--dial-timeout-seconds=1").ready(t)
	if _, err := refusing.connect(t, "postgres.orders"); sqlstate(err) != "57P03" {
		t.Errorf("where it is refused: %v", err)
	}
	until(t, "an Event says that it is refused", func() bool { return len(l.events(t, "db")) == 1 })
	allowing := l.router(t, "--allow-local-endpoints").ready(t)
	if port := at(t, allowing.session(t, "postgres.orders")); port != s.Port {
		t.Errorf("at port %d, want %d", port, s.Port)
	}
}

// Services of other namespaces than those that count are nobody's.
func namespaces(t *testing.T, l lab, s, _ server) {
	t.Helper()
	elsewhere := newLab(t, l.Cluster)
	elsewhere.service(t, "db")
	elsewhere.slice(t, "db-1", "db", s.ip)
	r := l.router(t).ready(t)
	if _, err := r.connect(t, "postgres.orders"); sqlstate(err) != "08001" {
		t.Errorf("from another namespace: %v", err)
	}
	both := l.router(t, "--discovery-namespaces="+elsewhere.ns).ready(t)
	if port := at(t, both.session(t, "postgres.orders")); port != s.Port {
		t.Errorf("at port %d, want %d", port, s.Port)
	}
}
