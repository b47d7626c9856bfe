package kill_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	coordination_v1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/fakegce"
)

// TestSIGKILLOverAnAPIServer kills the real binary at each change that it makes to a real
// API server or to a cloud, before and after the change takes effect, until there is none
// left to make on the path. Its successors get no further than to the next one.
func TestSIGKILLOverAnAPIServer(t *testing.T) {
	c := cluster.Shared(t)
	admin := defined(t, c)
	label := clusterUID(t, admin)
	killed := []string{
		"create", "adopt", "replace", "delete", "delete what was not written down", "delete without rights",
		"sweep an orphan", "sweep a duplicate",
	}
	for _, name := range killed {
		i := slices.IndexFunc(paths, func(p path) bool { return p.name == name })
		if i < 0 {
			t.Fatalf("there is no path %q", name)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paths[i].kill(paths[i].open(t, realStage(t, c, admin, label)))
		})
	}
}

// kill walks the path by processes that are killed at every change.
func (p path) kill(sc *scene) {
	sc.Helper()
	kills := map[string]int{}
	all, began := 0, time.Now()
	for ; !p.so(sc); all++ {
		where := []string{fakegce.Before, fakegce.After}[all%2]
		call := sc.processes.killAt(sc, where, changes...)
		kills[where+" "+call]++
		sc.lawOfOne(where + " " + call)
		if all > 40 {
			sc.Fatalf("there is no end to the path: killed %v; %s", kills, sc.state())
		}
	}
	sc.Logf("killed %d times in %s: %v", all, time.Since(began).Round(time.Second), kills)
	for _, call := range p.makes {
		for _, where := range []string{fakegce.Before, fakegce.After} {
			if slices.Contains(changes, call) && kills[where+" "+call] == 0 {
				sc.Errorf("never killed %s %q: %v", where, call, kills)
			}
		}
	}
	sc.until(p.so) // by one that lives
	p.end(sc)
}

// processes are real operators over a namespace of a real API server.
type processes struct {
	*binary
	*gate
	cloud *gceWorld
	admin client.Client
	lease *coordination_v1.Lease
}

// promptWorld is a cloud in which nothing takes time, and time is real.
type promptWorld struct{ *gceWorld }

func (promptWorld) passes(*testing.T, time.Duration) {}

func realStage(t *testing.T, c *cluster.Cluster, admin client.Client, label string) *stage {
	t.Helper()
	now := newClock()
	cloud := newGCEWorld(t, startCloud(t), now)
	cloud.hurry(t)
	ns, gate := c.Namespace(t), newGate(t, c.Config())
	return &stage{
		store: newClusterStore(t, admin, label, ns), world: promptWorld{cloud}, clock: now,
		processes: &processes{
			binary: newBinary(t, "--kubeconfig", gate.kubeconfig(t), "--namespace", ns, "--watch-namespaces", ns, "--lease-duration", "3s",
				"--gc-allow-namespaced=true", "--gcp-endpoint", cloud.URL),
			gate: gate, cloud: cloud, admin: admin, lease: &coordination_v1.Lease{Namespace: ns, Name: "gatehouse-fleet"},
		},
	}
}

// until lets a process live until it is so.
func (o *processes) until(sc *scene, so func(*scene) bool) {
	sc.Helper()
	o.start()
	eventually(sc.T, "it lives", func() error {
		if !so(sc) {
			return errors.New(sc.state())
		}
		return nil
	})
	o.kill()
	o.release(sc)
}

// killAt lets a process live until it makes one of these calls, and kills it there.
func (o *processes) killAt(sc *scene, where string, calls ...string) (call string) {
	sc.Helper()
	ctx, cancel := context.WithTimeout(sc.Context(), patience)
	o.hold(where, calls...)
	defer o.hold("")
	defer o.cloud.holdCalls(sc, where, calls)()
	heard := make(chan string, 1)
	var listening sync.WaitGroup
	listening.Go(func() {
		if held, err := o.cloud.WaitHeld(ctx); err == nil {
			heard <- cloudCalls[held.Call.Call]
		}
	})
	defer func() { cancel(); listening.Wait() }()
	o.start()
	select {
	case call = <-o.held:
	case call = <-heard:
	case <-ctx.Done():
		sc.Fatalf("it does nothing: %s", sc.state())
	}
	o.kill()
	o.cloud.must(sc.T, o.cloud.WaitFree(ctx))
	if call != "create" {
		o.release(sc)
	}
	return call
}

// release has the Lease of who was killed run out now. That of who was killed in a create
// does so in its own time.
func (o *processes) release(sc *scene) {
	sc.Helper()
	o.cloud.must(sc.T, client.IgnoreNotFound(o.admin.Delete(sc.Context(), o.lease.DeepCopy())))
}

// cloudCalls are fakegce's names of calls that change something, and ours.
var cloudCalls = map[string]string{fakegce.Insert: "create", fakegce.Delete: "delete"}

// holdCalls holds those of the calls that go to the cloud until it is told to let go.
func (w *gceWorld) holdCalls(sc *scene, where string, calls []string) (letGo func()) {
	sc.Helper()
	var ids []int
	for theirs, ours := range cloudCalls {
		if slices.Contains(calls, ours) {
			id, err := w.Add(sc.Context(), fakegce.Fault{Call: theirs, Hold: where})
			w.must(sc.T, err)
			ids = append(ids, id)
		}
	}
	return func() {
		sc.Helper()
		for _, id := range ids {
			w.must(sc.T, w.Lift(context.WithoutCancel(sc.Context()), id))
		}
	}
}
