package leases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/gatehouse-proxy/gatehouse/config/crd"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// lab is a namespace of a cluster with Proxies.
type lab struct {
	*cluster.Cluster
	*testing.T
	ns      string
	proxies dynamic.ResourceInterface
}

func newLab(t *testing.T) lab {
	t.Helper()
	c := cluster.Shared(t)
	definition, err := crd.Read(crd.Standard, "egress.gatehouse.dev", "proxies")
	if err != nil {
		t.Fatal(err)
	}
	c.Define(t, definition)
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	l := lab{Cluster: c, T: t, ns: c.Namespace(t)}
	l.proxies = client.Resource(schema.GroupVersionResource{Group: "egress.gatehouse.dev", Version: "v1alpha1", Resource: "proxies"}).Namespace(l.ns)
	return l
}

// external makes a Proxy that somebody else runs.
func (l lab) external(name string) {
	l.Helper()
	host, port, _ := strings.Cut(accepts(l.T), ":")
	var number int64
	if _, err := fmt.Sscan(port, &number); err != nil {
		l.Fatal(err)
	}
	p := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "egress.gatehouse.dev/v1alpha1", "kind": "Proxy", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"mode": "External", "endpoint": map[string]any{"host": host, "port": number}, "capacity": map[string]any{"maxLeases": int64(1)},
			"healthCheck": map[string]any{"interval": "5s", "timeout": "2s", "successThreshold": int64(1)},
		},
	}}
	if _, err := l.proxies.Create(l.Context(), p, meta_v1.CreateOptions{}); err != nil {
		l.Fatal(err)
	}
}

// verdict is the condition Healthy with its time.
func (l lab) verdict(name string) string {
	l.Helper()
	p, err := l.proxies.Get(l.Context(), name, meta_v1.GetOptions{})
	if err != nil {
		l.Fatal(err)
	}
	all, _, _ := unstructured.NestedSlice(p.Object, "status", "conditions")
	for _, c := range all {
		if c := c.(map[string]any); c["type"] == "Healthy" {
			return fmt.Sprint(c["status"], " since ", c["lastTransitionTime"])
		}
	}
	return "none"
}

func (l lab) run() *process {
	l.Helper()
	return run(l.T, "--kubeconfig="+l.Kubeconfig(l.T), "--namespace="+l.ns, "--watch-namespaces="+l.ns, "--lease-duration=3s")
}

func (p *process) says(text string) {
	p.Helper()
	cluster.Until(p.T, eventually, text, func(context.Context) error {
		if !strings.Contains(p.log.String(), text) {
			return errors.New("not yet said")
		}
		return nil
	})
}

// TestALeaderChangeKeepsVerdictsAndLeases, whether the one that led ends or is killed. Who
// does not lead passes on to who does.
func TestALeaderChangeKeepsVerdictsAndLeases(t *testing.T) {
	l := newLab(t)
	l.external("a")
	l.external("b")
	leader := l.run()
	leader.says("msg=leading ")
	first := leader.eventually(201, "POST", "/v1/leases", `{"ttlSeconds":600,"target":"one.example"}`)
	other := leader.eventually(201, "POST", "/v1/leases", `{"ttlSeconds":600}`)
	leader.must(204, "POST", "/v1/leases/"+first.LeaseID+"/report", `{"result":"banned"}`)
	before := l.verdict("a") + ", " + l.verdict("b")
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		next := l.run()
		next.says("another process leads")
		next.eventually(200, "PUT", "/v1/leases/"+first.LeaseID, `{"ttlSeconds":600}`) // passed on
		if s == syscall.SIGKILL {
			l.kept(leader, first.LeaseID)
			l.kept(leader, first.LeaseID) // the first may have been under way
		}
		if took := leader.stop(s); took > exits {
			t.Errorf("the end took %s", took)
		}
		next.says("msg=leading ")
		for _, lease := range []answer{first, other} {
			next.eventually(200, "PUT", "/v1/leases/"+lease.LeaseID, `{"ttlSeconds":600}`)
		}
		next.must(204, "DELETE", "/v1/leases/"+first.LeaseID, "")
		if none := next.must(409, "POST", "/v1/leases", `{"target":"one.example"}`); none.InCooldown != 1 || none.AtCapacity != 1 {
			t.Errorf("the cooldown is not known: %s", none.Text)
		}
		first = next.must(201, "POST", "/v1/leases", `{"ttlSeconds":600,"target":"two.example"}`)
		probedAgain := time.Now().Add(6 * time.Second)
		cluster.Until(t, eventually, "each has been probed again", func(context.Context) error {
			if time.Now().Before(probedAgain) {
				return errors.New("in a moment")
			}
			return nil
		})
		if after := l.verdict("a") + ", " + l.verdict("b"); after != before {
			t.Errorf("verdicts were %s, are %s", before, after)
		}
		leader = next
	}
}

// kept waits until a renewal from now on has been written into the Secret: with it, all
// that was before.
func (l lab) kept(p *process, id string) {
	l.Helper()
	read := func() string {
		s, err := l.Client().CoreV1().Secrets(l.ns).Get(l.Context(), "gatehouse-fleet-leases", meta_v1.GetOptions{})
		if err != nil {
			l.Fatal(err)
		}
		return s.ResourceVersion
	}
	was := read()
	p.must(200, "PUT", "/v1/leases/"+id, `{"ttlSeconds":599}`)
	cluster.Until(l.T, eventually, "the Secret is written", func(context.Context) error {
		if read() == was {
			return errors.New("not yet")
		}
		return nil
	})
}
