package pods

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	rbac_v1 "k8s.io/api/rbac/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/config/crd"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/controller"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/kubernetes"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/podrunner"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// fleet is a namespace with a controller and a stand-in of the kubelet.
type fleet struct {
	*cluster.Cluster
	client.Client // as administrator
	ns            string
	pods          *podrunner.Runner
	log           rig.Output
}

// rules are all that the fleet's account may do. Pods are not watched.
func rules() []rbac_v1.PolicyRule {
	rule := func(group, resource string, verbs ...string) rbac_v1.PolicyRule {
		return rbac_v1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	return []rbac_v1.PolicyRule{
		rule(egress_v1alpha1.Group, "proxies", "get", "list", "watch", "patch"), rule(egress_v1alpha1.Group, "proxies/status", "patch"),
		rule("", "secrets", "get", "list", "watch"), rule("", "namespaces", "get"),
		rule("coordination.k8s.io", "leases", "create", "get", "update"),
		rule("", "pods", "get", "list", "create", "delete"),
	}
}

// newFleet starts one over a namespace of the restricted standard; without zones, every
// zone has room.
func newFleet(t *testing.T, zones ...string) *fleet {
	t.Helper()
	c := cluster.Shared(t)
	definition, err := crd.Read(crd.Standard, egress_v1alpha1.Group, "proxies")
	if err != nil {
		t.Fatal(err)
	}
	c.Define(t, definition)
	f := &fleet{Cluster: c, Client: administrator(t, c), ns: c.Namespace(t)}
	patch := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	if _, err := c.Client().CoreV1().Namespaces().Patch(t.Context(), f.ns, types.MergePatchType, patch, meta_v1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	account, err := clientcmd.BuildConfigFromFlags("", c.ServiceAccount(t, f.ns, "fleet", rules()...))
	if err != nil {
		t.Fatal(err)
	}
	f.control(t, account) // first: it sets the logger of all clients
	f.pods = podrunner.Start(t, podrunner.Options{Cluster: c, Namespace: f.ns, Program: binary, Zones: zones})
	return f
}

func administrator(t *testing.T, c *cluster.Cluster) client.Client {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, egress_v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	admin, err := client.New(c.Config(), client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	return admin
}

// control runs the controller until the test ends.
func (f *fleet) control(t *testing.T, account *rest.Config) {
	t.Helper()
	c, err := controller.New(t.Context(), controller.Options{
		Config: account, Namespaces: []string{f.ns}, Namespace: f.ns, Lease: "fleet", Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	made, err := kubernetes.New(kubernetes.Options{
		Config: account, Cluster: c.Cluster(), Namespaces: []string{f.ns},
		Template: kubernetes.Template{
			Image: "registry.example/gatehouse-forward:0.1.0", AllowDestinations: []netip.Prefix{netip.MustParsePrefix(cluster.Machines)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	core := &reconcile.Reconciler{
		Objects: c.Objects(), Providers: map[string]provider.Provider{"kubernetes": made},
		Cluster: c.Cluster(), MaxUnavailable: lifecycle.Budget{Number: 3}, Now: time.Now,
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx, controller.Work{Reconcile: core.Reconcile}); err != nil {
			t.Errorf("the controller: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
		if t.Failed() {
			t.Log(f.log.String())
		}
	})
}

func (f *fleet) put(t *testing.T, o client.Object) {
	t.Helper()
	o.SetNamespace(f.ns)
	if err := f.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// proxy is one of the given scheme, with the Secret px-auth.
func (f *fleet) proxy(t *testing.T, name string, scheme egress_v1alpha1.Scheme, change func(*egress_v1alpha1.ProxySpec)) {
	t.Helper()
	p := &egress_v1alpha1.Proxy{Name: name, Spec: egress_v1alpha1.ProxySpec{
		Mode: egress_v1alpha1.Managed, Provider: "kubernetes", Endpoint: &egress_v1alpha1.Endpoint{Scheme: scheme},
		Auth: &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: "px-auth"}},
	}}
	if change != nil {
		change(&p.Spec)
	}
	f.put(t, p)
}

func (f *fleet) read(ctx context.Context, name string) (*egress_v1alpha1.Proxy, error) {
	p := new(egress_v1alpha1.Proxy)
	return p, f.Get(ctx, types.NamespacedName{Namespace: f.ns, Name: name}, p)
}

func (f *fleet) listPods(ctx context.Context) ([]core_v1.Pod, error) {
	list := new(core_v1.PodList)
	err := f.List(ctx, list, client.InNamespace(f.ns))
	return list.Items, err
}
