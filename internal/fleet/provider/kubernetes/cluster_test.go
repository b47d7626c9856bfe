package kubernetes_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	rbac_v1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/kubernetes"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/podrunner"
)

const image = "registry.example/gatehouse-forward:0.1.0"

// bench is a provider and a namespace that enforces the restricted standard.
type bench struct {
	*testing.T
	c         *cluster.Cluster
	namespace string
	cluster   string // the label
	*kubernetes.Provider
}

func newBench(t *testing.T) bench {
	t.Helper()
	c := cluster.Shared(t)
	b := bench{T: t, c: c, namespace: c.Namespace(t), cluster: string(uuid.NewUUID())}
	patch := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	if _, err := c.Client().CoreV1().Namespaces().Patch(t.Context(), b.namespace, types.MergePatchType, patch, meta_v1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	b.Provider = b.as(c.Config(), b.namespace)
	return b
}

// as is a provider with another account.
func (b bench) as(config *rest.Config, namespaces ...string) *kubernetes.Provider {
	b.Helper()
	return b.of(b.cluster, config, namespaces...)
}

func (b bench) of(label string, config *rest.Config, namespaces ...string) *kubernetes.Provider {
	b.Helper()
	p, err := kubernetes.New(kubernetes.Options{Config: config, Cluster: label, Namespaces: namespaces, Template: kubernetes.Template{Image: image}})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func (b bench) request() provider.CreateRequest {
	uid := string(uuid.NewUUID())
	return provider.CreateRequest{
		Name: provider.NameFromUID(uid), UID: uid, Cluster: b.cluster, Hash: strings.Repeat("ab", 32),
		Namespace: b.namespace, Proxy: "px", Port: 3128, Scheme: "http", AuthSecret: "px-auth",
	}
}

func (b bench) create(r provider.CreateRequest) provider.Instance {
	b.Helper()
	i, err := b.Create(b.Context(), r)
	if err != nil {
		b.Fatal(err)
	}
	return i
}

// await asks until the provider says so.
func (b bench) await(what string, check func() bool) {
	b.Helper()
	deadline := time.Now().Add(time.Minute)
	for !check() {
		if time.Now().After(deadline) {
			b.Fatalf("not within a minute: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (b bench) state(id string) provider.State {
	b.Helper()
	i, err := b.Get(b.Context(), id)
	if err != nil && !errors.Is(err, provider.ErrNotFound) {
		b.Fatal(err)
	}
	return i.State
}

func (b bench) wantClass(err, want error) {
	b.Helper()
	if !errors.Is(err, want) || !errors.Is(provider.Class(err), want) {
		b.Errorf("error %v, want class %v", err, want)
	}
}

func TestLife(t *testing.T) {
	b := newBench(t)
	r := b.request()
	made := b.create(r)
	if made.State != provider.Provisioning || made.Hash != r.Hash[:32] || made.UID != r.UID || made.Cluster != r.Cluster || made.Name != r.Name {
		t.Errorf("created: %+v", made)
	}
	podrunner.Start(t, podrunner.Options{Cluster: b.c, Namespace: b.namespace})
	b.await("it runs", func() bool { return b.state(made.ID) == provider.Running })
	again := r
	again.Hash = strings.Repeat("cd", 32)
	if adopted := b.create(again); adopted.ID != made.ID || adopted.Hash != made.Hash || adopted.State != provider.Running {
		t.Errorf("created again: %+v; want what runs", adopted)
	}
	if err := b.Delete(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	b.await("it is gone", func() bool { _, err := b.Get(t.Context(), made.ID); return errors.Is(err, provider.ErrNotFound) })
	other := b.create(r)
	if other.ID == made.ID {
		t.Errorf("another pod has the ID %s", made.ID)
	}
	if err := b.Delete(t.Context(), made.ID); err != nil {
		t.Errorf("delete what is gone: %v", err)
	}
	if _, err := b.Get(t.Context(), made.ID); !errors.Is(err, provider.ErrNotFound) {
		t.Errorf("the first pod is taken for the second one: %v", err)
	}
	if b.state(other.ID) == 0 {
		t.Error("deleting by the first ID deleted the second pod")
	}
}

// A pod with our name that somebody else made is neither taken nor deleted.
func TestForeignPod(t *testing.T) {
	b := newBench(t)
	r := b.request()
	foreign := b.request()
	foreign.Name = r.Name
	i := b.create(foreign)
	_, err := b.Create(t.Context(), r)
	b.wantClass(err, provider.ErrPermanent)
	if b.state(i.ID) != 0 {
		t.Error("a pod whose name is not that of its UID was taken for an instance")
	}
	if err := b.Delete(t.Context(), i.ID); err != nil {
		t.Error(err)
	}
	if _, err := b.c.Client().CoreV1().Pods(b.namespace).Get(t.Context(), r.Name, meta_v1.GetOptions{}); err != nil {
		t.Errorf("the foreign pod: %v", err)
	}
	if all, err := b.ListByTag(t.Context(), b.cluster); err != nil || len(all) > 0 {
		t.Errorf("list: %v, %v; want none", all, err)
	}
}

// What is being deleted is seen, and makes room before anything takes its name.
func TestTerminating(t *testing.T) {
	b := newBench(t)
	r := b.request()
	made := b.create(r)
	pods := b.c.Client().CoreV1().Pods(b.namespace)
	held := func(finalizers string) {
		t.Helper()
		patch := []byte(`{"metadata":{"finalizers":` + finalizers + `}}`)
		if _, err := pods.Patch(t.Context(), r.Name, types.MergePatchType, patch, meta_v1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	held(`["gatehouse.test/hold"]`)
	for range 2 {
		if err := b.Delete(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.state(made.ID); got != provider.Terminating {
		t.Errorf("state %d, want Terminating", got)
	}
	_, err := b.Create(t.Context(), r)
	b.wantClass(err, provider.ErrTransient)
	if found, err := b.Find(t.Context(), r.Cluster, r.UID); err != nil || len(found) != 1 || found[0].State != provider.Terminating {
		t.Errorf("find: %v, %v; want the one that is being deleted", found, err)
	}
	held("null")
	if other := b.create(r); other.ID == made.ID {
		t.Error("the ID of the new pod is that of the old one")
	}
}

func TestQuota(t *testing.T) {
	b := newBench(t)
	quotas := b.c.Client().CoreV1().ResourceQuotas(b.namespace)
	none := core_v1.ResourceList{core_v1.ResourcePods: resource.MustParse("0")}
	q, err := quotas.Create(t.Context(), &core_v1.ResourceQuota{Name: "small", Spec: core_v1.ResourceQuotaSpec{Hard: none}}, meta_v1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	q.Status = core_v1.ResourceQuotaStatus{Hard: none, Used: none} // as its controller would
	if _, err := quotas.UpdateStatus(t.Context(), q, meta_v1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	r := b.request()
	b.await("the quota counts", func() bool { // it is seen through a cache
		i, err := b.Create(t.Context(), r)
		if err == nil {
			_ = b.Delete(t.Context(), i.ID)
			return false
		}
		if !strings.Contains(err.Error(), "quota exceeded: create pod "+b.namespace+"/"+r.Name) {
			t.Errorf("error: %v", err)
		}
		return errors.Is(provider.Class(err), provider.ErrQuotaExceeded)
	})
	if err := quotas.Delete(t.Context(), "small", meta_v1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.await("it is created", func() bool { _, err := b.Create(t.Context(), r); return err == nil })
}

func TestInvalid(t *testing.T) {
	b := newBench(t)
	r := b.request()
	r.Hash = "not a label!"
	_, err := b.Create(t.Context(), r)
	b.wantClass(err, provider.ErrPermanent)
	r = b.request()
	r.Namespace = "there-is-none"
	_, err = b.Create(t.Context(), r)
	b.wantClass(err, provider.ErrTransient)
	for _, id := range []string{"", "a", "a/b", "a/b/c", b.namespace + "/px-1/" + string(uuid.NewUUID()), "a/b/c/d"} {
		_, err := b.Get(t.Context(), id)
		b.wantClass(err, provider.ErrNotFound)
	}
}

// The account needs four verbs on pods, and no watch.
func TestRights(t *testing.T) {
	b := newBench(t)
	rule := func(verbs ...string) rbac_v1.PolicyRule {
		return rbac_v1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: verbs}
	}
	account := func(name string, rules ...rbac_v1.PolicyRule) *rest.Config {
		config, err := clientcmd.BuildConfigFromFlags("", b.c.ServiceAccount(t, b.namespace, name, rules...))
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	enough := b.as(account("enough", rule("get", "list", "create", "delete")))
	r := b.request()
	i, err := enough.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := enough.ListByTag(t.Context(), b.cluster); err != nil || len(all) != 1 || all[0].ID != i.ID {
		t.Errorf("list: %v, %v", all, err)
	}
	none := b.as(account("none"))
	_, err = none.Get(t.Context(), i.ID)
	b.wantClass(err, provider.ErrPermanent)
	b.wantClass(none.Delete(t.Context(), i.ID), provider.ErrPermanent)
	_, err = none.Create(t.Context(), b.request())
	b.wantClass(err, provider.ErrPermanent)
	if all, err := none.ListByTag(t.Context(), b.cluster); err == nil || len(all) > 0 {
		t.Errorf("list without rights: %v, %v", all, err)
	}
	if err := enough.Delete(t.Context(), i.ID); err != nil {
		t.Error(err)
	}
}

// A namespace that cannot be seen is named, and takes nothing from what is seen.
func TestPartialList(t *testing.T) {
	b := newBench(t)
	made := b.create(b.request())
	config := b.c.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.Contains(r.URL.Path, "/namespaces/dark/") {
				return nil, errors.New("no route")
			}
			return next.RoundTrip(r)
		})
	})
	all, err := b.as(config, "dark", b.namespace).ListByTag(t.Context(), b.cluster)
	partial, ok := errors.AsType[*provider.PartialError](err)
	if !ok || !slices.Equal(partial.Scopes, []string{"namespace dark"}) || len(all) != 1 || all[0].ID != made.ID {
		t.Errorf("list: %v, %v; want the pod, and that namespace dark was not seen", all, err)
	}
	all, err = b.as(config).ListByTag(t.Context(), b.cluster)
	if err != nil || len(all) != 1 {
		t.Errorf("list of all namespaces: %v, %v; want the pod", all, err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Nothing but the API server's own word makes an instance not exist.
func TestLies(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"404 of a proxy":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such page", http.StatusNotFound) },
		"500":             func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusInternalServerError) },
		"empty list":      func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "application/json") },
		"another's words": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"no answer":       func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(answer)
			defer s.Close()
			b := bench{T: t}
			p := b.as(&rest.Config{Host: s.URL})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err := p.Get(ctx, "a/px-1/2")
			b.wantClass(err, provider.ErrTransient)
			b.wantClass(p.Delete(ctx, "a/px-1/2"), provider.ErrTransient)
			_, err = p.ListByTag(ctx, "c")
			b.wantClass(err, provider.ErrTransient)
			_, err = p.Find(ctx, "c", "1")
			b.wantClass(err, provider.ErrTransient)
		})
	}
}

// The Secret is where the pod finds it, under the restricted standard.
func TestFullPodIsAccepted(t *testing.T) {
	b := newBench(t)
	r := b.request()
	r.Zone, r.AuthSecret, r.Port = "europe-west1-b", "px-auth", 80
	i := b.create(r)
	pod, err := b.c.Client().CoreV1().Pods(b.namespace).Get(t.Context(), i.Name, meta_v1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := pod.Annotations[kubernetes.ProxyAnnotation]; got != b.namespace+"/px" || pod.Labels[egress_v1alpha1.HashLabel] == "" {
		t.Errorf("pod %+v", pod.ObjectMeta)
	}
	podrunner.Start(t, podrunner.Options{Cluster: b.c, Namespace: b.namespace, Zones: []string{"elsewhere"}})
	b.await("nobody takes it", func() bool {
		i, err := b.Get(t.Context(), i.ID)
		return err == nil && i.State == provider.Provisioning && strings.HasPrefix(i.Detail, "no node takes the pod: Unschedulable")
	})
}
