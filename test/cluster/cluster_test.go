package cluster_test

import (
	"context"
	"testing"
	"time"

	apps_v1 "k8s.io/api/apps/v1"
	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	rbac_v1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// eventually is more than what a busy machine needs.
const eventually = time.Minute

// until waits until check is true.
func until(t *testing.T, what string, check func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !check(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within %s: %s", eventually, what)
		}
	}
}

var labels = map[string]string{"app": "orders"}

// A Deployment gets its pods, and a pod that says it is ready is in the EndpointSlice of
// its Service.
func TestControllersWork(t *testing.T) {
	c := cluster.Shared(t)
	ns, core := c.Namespace(t), c.Client().CoreV1()
	template := core_v1.PodTemplateSpec{
		Labels: labels,
		Spec:   core_v1.PodSpec{NodeName: cluster.Node, Containers: []core_v1.Container{{Name: "orders", Image: "orders"}}},
	}
	deployment := &apps_v1.Deployment{
		Name: "orders",
		Spec: apps_v1.DeploymentSpec{Selector: &meta_v1.LabelSelector{MatchLabels: labels}, Template: template},
	}
	if _, err := c.Client().AppsV1().Deployments(ns).Create(t.Context(), deployment, meta_v1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &core_v1.Service{
		Name: "orders",
		Spec: core_v1.ServiceSpec{Selector: labels, Ports: []core_v1.ServicePort{{Port: 5432}}},
	}
	if _, err := core.Services(ns).Create(t.Context(), service, meta_v1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var pod core_v1.Pod
	until(t, "the Deployment has its pod", func(ctx context.Context) bool {
		pods, err := core.Pods(ns).List(ctx, meta_v1.ListOptions{})
		if err != nil || len(pods.Items) != 1 {
			return false
		}
		pod = pods.Items[0]
		return true
	})
	pod.Status = core_v1.PodStatus{
		Phase: core_v1.PodRunning, PodIP: "10.244.1.7", PodIPs: []core_v1.PodIP{{IP: "10.244.1.7"}},
		Conditions: []core_v1.PodCondition{{Type: core_v1.PodReady, Status: core_v1.ConditionTrue}},
	}
	if _, err := core.Pods(ns).UpdateStatus(t.Context(), &pod, meta_v1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the pod is a ready endpoint", func(ctx context.Context) bool {
		slices, err := c.Client().DiscoveryV1().EndpointSlices(ns).List(ctx, meta_v1.ListOptions{LabelSelector: discovery_v1.LabelServiceName + "=orders"})
		if err != nil || len(slices.Items) != 1 || len(slices.Items[0].Endpoints) != 1 {
			return false
		}
		e := slices.Items[0].Endpoints[0]
		return e.Addresses[0] == "10.244.1.7" && *e.Conditions.Ready
	})
}

func TestAnAccountMayDoWhatItsRulesSay(t *testing.T) {
	c := cluster.Shared(t)
	ns := c.Namespace(t)
	file := c.ServiceAccount(t, ns, "reader", rbac_v1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list"}})
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Services("").List(t.Context(), meta_v1.ListOptions{}); err != nil {
		t.Errorf("list Services: %v", err)
	}
	if _, err := client.CoreV1().Secrets(ns).List(t.Context(), meta_v1.ListOptions{}); !errors.IsForbidden(err) {
		t.Errorf("list Secrets: %v, want forbidden", err)
	}
}

// Two clusters know nothing of each other, and what is in one outlives its API server.
func TestOutage(t *testing.T) {
	c, other := cluster.Start(t), cluster.Shared(t)
	ns := c.Namespace(t)
	get := func(of *cluster.Cluster) error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := of.Client().CoreV1().Namespaces().Get(ctx, ns, meta_v1.GetOptions{})
		return err
	}
	c.StopAPIServer(t)
	if err := get(c); err == nil {
		t.Error("it answers although it was stopped")
	}
	if err := get(other); !errors.IsNotFound(err) {
		t.Errorf("the other cluster says %v, want that it has no such namespace", err)
	}
	c.StartAPIServer(t)
	if err := get(c); err != nil {
		t.Errorf("after the start: %v", err)
	}
	c.FreezeAPIServer(t)
	if err := get(c); err == nil {
		t.Error("it answers although it is frozen")
	}
	c.ThawAPIServer(t)
	if err := get(c); err != nil {
		t.Errorf("after the thaw: %v", err)
	}
}
