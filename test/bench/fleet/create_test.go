package fleet

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/gcp"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

// limit is how many requests a second the fleet may make.
const limit = 20

// idle is how long nothing is written afterwards.
const idle = 10 * time.Minute

// TestCreatesUnderALimit: all at once, each made once, within the time that the limit
// leaves, and never more requests than allowed; and then nothing is written any more.
func TestCreatesUnderALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := create(t, 200)
		t.Log(got)
		// A create and a look at each, and the time that the last one takes to run.
		if most := 3 * time.Minute; got.took > most {
			t.Errorf("%d Proxies took %v, want at most %v", got.n, got.took, most)
		}
	})
}

// BenchmarkCreates is the time until 1,000 Proxies that are created at once are all
// provisioned under a limit of 20 requests a second; it must be within 10 minutes.
func BenchmarkCreates(b *testing.B) {
	for b.Loop() {
		var got outcome
		bubble(b, func(t *testing.T) { got = create(t, 1000) })
		if got.took > 10*time.Minute {
			b.Error(got)
		}
		b.ReportMetric(got.took.Seconds(), "synthetic-s")
		b.ReportMetric(float64(got.calls), "requests")
		b.ReportMetric(float64(got.writes), "status-writes")
		b.ReportMetric(float64(got.most), "most-requests/s")
	}
}

// bubble runs f in synthetic time, which only tests can.
func bubble(b *testing.B, f func(t *testing.T)) {
	b.Helper()
	ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{
		{Name: b.Name(), F: func(t *testing.T) { synctest.Test(t, f) }},
	})
	if !ok {
		b.Fatal("it failed")
	}
}

// outcome is how a run went.
type outcome struct {
	n, calls, writes int           // until all were provisioned
	most             int           // requests in any second
	took             time.Duration // synthetic
}

func (o outcome) String() string {
	return fmt.Sprintf("%d Proxies provisioned after %v: %d requests, at most %d in a second, %d status writes", o.n, o.took, o.calls, o.most, o.writes)
}

// create creates n Proxies at once and waits until all are provisioned.
func create(t *testing.T, n int) outcome {
	t.Helper()
	cloud := fakegce.New(fakegce.Options{
		StageAfter: 2 * time.Second, RunAfter: 15 * time.Second, AddressAfter: 2 * time.Second, GoneAfter: 20 * time.Second, Latency: 80 * time.Millisecond,
	})
	s := newShell()
	all := &objects{changed: s.queue.Add, proxies: map[types.NamespacedName]*proxy{}}
	s.r = &reconcile.Reconciler{
		Objects: all, Cluster: "bench", Now: time.Now, MaxUnavailable: lifecycle.Budget{},
		Providers: map[string]provider.Provider{"gcp": provider.Limited(gcp.New(gcp.Options{
			Project: "test-project", Cluster: "bench", Endpoint: "http://fakegce.invalid", Transport: cloud.Transport(),
		}), limit)},
	}
	began := time.Now()
	for i := range n {
		p := newProxy(i)
		all.add(p)
		s.queue.Add(keyOf(p))
	}
	s.start(t.Context())
	for all.phases()[egress_v1alpha1.PhaseProvisioned] < n && time.Since(began) < time.Hour {
		time.Sleep(time.Second)
	}
	took, written := time.Since(began), all.statusWrites()
	time.Sleep(idle)
	s.stop()
	check(t, cloud, all, n)
	if more := all.statusWrites() - written; more != 0 {
		t.Errorf("%d status writes in %v in which nothing happened", more, idle)
	}
	calls := slices.DeleteFunc(cloud.Calls(), func(c fakegce.Call) bool { return c.At.Sub(began) > took })
	return outcome{n: n, calls: len(calls), writes: written, most: busiest(cloud.Calls()), took: took}
}

func newProxy(i int) *proxy {
	return &proxy{
		Namespace: "crawl", Name: fmt.Sprintf("px-%d", i), UID: types.UID(fmt.Sprintf("%08d-aaaa-4aaa-8aaa-aaaaaaaaaaaa", i)), Generation: 1,
		Spec: egress_v1alpha1.ProxySpec{
			Mode: egress_v1alpha1.Managed, Provider: "gcp", Zone: []string{"europe-west1-b", "europe-west1-c", "us-central1-a"}[i%3], MachineType: "e2-micro",
			CloudInit: &egress_v1alpha1.CloudInit{Inline: "#cloud-config\n"},
		},
	}
}

// check: every Proxy has the one instance that was made for it.
func check(t *testing.T, cloud *fakegce.Cloud, all *objects, n int) {
	t.Helper()
	if phases := all.phases(); phases[egress_v1alpha1.PhaseProvisioned] != n {
		t.Fatalf("phases %v, want %d provisioned", phases, n)
	}
	uids := map[string]int{}
	for _, m := range cloud.Machines() {
		uids[m.Labels[egress_v1alpha1.UIDLabel]]++
	}
	if len(uids) != n || len(cloud.Machines()) != n {
		t.Errorf("%d instances of %d UIDs, want %d", len(cloud.Machines()), len(uids), n)
	}
	inserts := 0
	for _, call := range cloud.Calls() {
		if call.Call == fakegce.Insert {
			inserts++
		}
	}
	if broken := cloud.Broken(); inserts != n || len(broken) > 0 {
		t.Errorf("%d creates for %d Proxies; %v", inserts, n, broken)
	}
	if most, allowed := busiest(cloud.Calls()), limit+limit/4; most > allowed {
		t.Errorf("%d requests in a second, want at most %d", most, allowed)
	}
}

// busiest is the most requests that began within one second.
func busiest(calls []fakegce.Call) (most int) {
	at := make([]time.Time, 0, len(calls))
	for _, call := range calls {
		at = append(at, call.At)
	}
	slices.SortFunc(at, time.Time.Compare)
	from := 0
	for i := range at {
		for !at[i].Before(at[from].Add(time.Second)) {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}
