package kubernetes_test

import (
	"strings"
	"testing"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/providertest"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/podrunner"
)

func TestContract(t *testing.T) {
	const waits = "the API server accepts a pod whether a node has room or not, and it waits for one"
	providertest.Run(t, providertest.Subject{
		New: func(t *testing.T) providertest.World { return newWorld(t) },
		Impossible: map[providertest.Fault]string{
			providertest.QuotaLater:    "a ResourceQuota refuses the create itself",
			providertest.StockoutNow:   waits,
			providertest.StockoutLater: waits,
		},
	})
}

// world is a real API server, two of its namespaces, a stand-in of the kubelet in each,
// and a way to the API server that can fail.
type world struct {
	bench
	dark   string // a second namespace
	way    *way
	runner *podrunner.Runner
	held   string // the pod that does not go
}

func newWorld(t *testing.T) *world {
	t.Helper()
	b := bench{T: t, c: cluster.Shared(t)}
	b.namespace = b.c.Namespace(t)
	w := &world{bench: b, dark: b.c.Namespace(t), way: new(way)}
	w.runner = podrunner.Start(t, podrunner.Options{Cluster: b.c, Namespace: b.namespace})
	return w
}

func (w *world) Open(_ testing.TB, label string) provider.Provider {
	config := w.c.Config()
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json" // some faults change what is said
	config.Wrap(w.way.after)
	return w.of(label, config, w.namespace, w.dark)
}

func (w *world) Request(label, uid string) provider.CreateRequest {
	r := w.request()
	r.UID, r.Name, r.Cluster = uid, provider.NameFromUID(uid), label
	r.AuthSecret, r.Credentials = "px-auth", provider.Credentials{Username: "alice", Password: providertest.Password}
	return r
}

// Step has nothing to do: the stand-in of the kubelet works by itself.
func (w *world) Step(testing.TB) {}

func (w *world) Count(tb testing.TB, name string) (n int) {
	tb.Helper()
	for _, namespace := range []string{w.namespace, w.dark} {
		pods, err := w.c.Client().CoreV1().Pods(namespace).List(tb.Context(), meta_v1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			tb.Fatal(err)
		}
		n += len(pods.Items)
	}
	return n
}

func (w *world) Inject(tb testing.TB, f providertest.Fault, on string) {
	tb.Helper()
	switch f {
	case providertest.AddressLate:
		w.runner.Hold()
	case providertest.Stops:
		w.status(tb, on, `{"phase":"Failed","reason":"Evicted"}`)
	case providertest.Restarts:
		w.status(tb, on, `{"podIP":"10.98.99.99","podIPs":[{"$patch":"replace"},{"ip":"10.98.99.99"}]}`)
	case providertest.NameTaken, providertest.Duplicate:
		w.another(tb, f, on)
	case providertest.Vanishes:
		pods := w.c.Client().CoreV1().Pods(w.namespace)
		if err := pods.Delete(tb.Context(), name(on), meta_v1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
			tb.Fatal(err)
		}
	case providertest.DeleteStalls:
		w.held = name(on)
		w.patch(tb, `{"metadata":{"finalizers":["gatehouse.test/hold"]}}`)
	default:
		w.way.fail(f, w.dark)
	}
}

func (w *world) Lift(tb testing.TB, f providertest.Fault) {
	tb.Helper()
	switch f {
	case providertest.AddressLate:
		w.runner.Resume()
	case providertest.DeleteStalls:
		w.patch(tb, `{"metadata":{"finalizers":null}}`)
	default:
		w.way.fail("", "")
	}
}

// name is that of the pod with this ID.
func name(id string) string { return strings.Split(id, "/")[1] }

func (w *world) status(tb testing.TB, id, status string) {
	tb.Helper()
	pods := w.c.Client().CoreV1().Pods(w.namespace)
	if _, err := pods.Patch(tb.Context(), name(id), types.StrategicMergePatchType, []byte(`{"status":`+status+`}`), meta_v1.PatchOptions{}, "status"); err != nil {
		tb.Fatal(err)
	}
}

func (w *world) patch(tb testing.TB, patch string) {
	tb.Helper()
	pods := w.c.Client().CoreV1().Pods(w.namespace)
	if _, err := pods.Patch(tb.Context(), w.held, types.MergePatchType, []byte(patch), meta_v1.PatchOptions{}); err != nil {
		tb.Fatal(err)
	}
}

// another makes a pod that is not the provider's: with a name, or with the labels of one
// that is, in the other namespace.
func (w *world) another(tb testing.TB, f providertest.Fault, on string) {
	tb.Helper()
	core := w.c.Client().CoreV1()
	if f == providertest.NameTaken {
		pod := plainPod(on)
		if _, err := core.Pods(w.namespace).Create(tb.Context(), pod, meta_v1.CreateOptions{}); err != nil {
			tb.Fatal(err)
		}
		return
	}
	like, err := core.Pods(w.namespace).Get(tb.Context(), name(on), meta_v1.GetOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	pod := plainPod(like.Name)
	pod.Labels = like.Labels
	if _, err := core.Pods(w.dark).Create(tb.Context(), pod, meta_v1.CreateOptions{}); err != nil {
		tb.Fatal(err)
	}
}
