package kill_test

import (
	"context"
	"errors"
	"testing"

	core_v1 "k8s.io/api/core/v1"
	api_errors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/config/crd"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/controller"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// TestKillOverAnAPIServer has real objects and, in another process, a cloud.
func TestKillOverAnAPIServer(t *testing.T) {
	c, url := cluster.Shared(t), startCloud(t)
	admin := defined(t, c)
	label := clusterUID(t, admin)
	exhaust(t, everyChange, func(t *testing.T) *stage {
		c := newClock()
		return &stage{store: newClusterStore(t, admin, label, key.Namespace), world: newGCEWorld(t, url, c), clock: c}
	})
}

// defined teaches a cluster what a Proxy is.
func defined(t *testing.T, c *cluster.Cluster) client.Client {
	t.Helper()
	d, err := crd.Read(crd.Standard, egress_v1alpha1.Group, "proxies")
	if err != nil {
		t.Fatal(err)
	}
	c.Define(t, d)
	s := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(s), egress_v1alpha1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(c.Config(), client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Create(t.Context(), &core_v1.Namespace{Name: key.Namespace}); err != nil && !api_errors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return admin
}

func clusterUID(t *testing.T, c client.Client) string {
	t.Helper()
	var system core_v1.Namespace
	if err := c.Get(t.Context(), types.NamespacedName{Name: "kube-system"}, &system); err != nil {
		t.Fatal(err)
	}
	return string(system.UID)
}

// clusterStore is a namespace of a real API server, whatever the paths call it.
type clusterStore struct {
	client.Client
	label, namespace string
}

// newClusterStore empties the namespace.
func newClusterStore(t *testing.T, c client.Client, label, namespace string) *clusterStore {
	t.Helper()
	s := &clusterStore{c, label, namespace}
	for _, p := range s.proxies(t) {
		s.must(t, c.Patch(t.Context(), p, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":[]}}`))))
		s.must(t, client.IgnoreNotFound(c.Delete(t.Context(), p)))
	}
	return s
}

func (s *clusterStore) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *clusterStore) objects(*testing.T) objects { return controller.Direct(s.Client) }
func (s *clusterStore) cluster() string            { return s.label }

func (s *clusterStore) create(t *testing.T, p *egress_v1alpha1.Proxy) {
	t.Helper()
	p.Namespace = s.namespace
	s.must(t, s.Create(t.Context(), p))
}

func (s *clusterStore) edit(t *testing.T, key types.NamespacedName, change func(*egress_v1alpha1.Proxy)) {
	t.Helper()
	s.must(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var p egress_v1alpha1.Proxy
		if err := s.Get(t.Context(), types.NamespacedName{Namespace: s.namespace, Name: key.Name}, &p); err != nil {
			return err
		}
		change(&p)
		return s.Update(t.Context(), &p)
	}))
}

func (s *clusterStore) remove(t *testing.T, key types.NamespacedName) {
	t.Helper()
	s.must(t, s.Delete(t.Context(), &egress_v1alpha1.Proxy{Namespace: s.namespace, Name: key.Name}))
}

func (s *clusterStore) secret(t *testing.T, key types.NamespacedName, data map[string][]byte) {
	t.Helper()
	secret := &core_v1.Secret{Namespace: s.namespace, Name: key.Name, Data: data}
	err := s.Create(t.Context(), secret)
	if api_errors.IsAlreadyExists(err) {
		err = s.Update(t.Context(), secret)
	}
	s.must(t, err)
}

func (s *clusterStore) proxies(t *testing.T) (all []*egress_v1alpha1.Proxy) {
	t.Helper()
	var list egress_v1alpha1.ProxyList
	s.must(t, s.List(context.WithoutCancel(t.Context()), &list, client.InNamespace(s.namespace)))
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all
}
