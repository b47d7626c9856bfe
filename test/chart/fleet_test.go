package chart

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	authorization_v1 "k8s.io/api/authorization/v1"
	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// fleet renders the chart of the fleet.
func fleet(t *testing.T, namespace, values string) []*unstructured.Unstructured {
	t.Helper()
	rendered, err := Render(Fleet, "fleet", namespace, strings.ReplaceAll(values, "NAMESPACE", namespace))
	if err != nil {
		t.Fatal(err)
	}
	out, err := Objects(rendered)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// proxies makes the kind known.
func proxies(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	definition, err := os.ReadFile("../../config/crd/egress.gatehouse.dev_proxies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c.Define(t, definition)
}

// oneProxy makes a Proxy of pods.
func oneProxy(t *testing.T, c *cluster.Cluster, namespace string) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	to := client.Resource(schema.GroupVersionResource{Group: "egress.gatehouse.dev", Version: "v1alpha1", Resource: "proxies"}).Namespace(namespace)
	auth := &core_v1.Secret{Name: "auth", StringData: map[string]string{"username": "crawler", "password": "not told"}}
	if _, err := c.Client().CoreV1().Secrets(namespace).Create(t.Context(), auth, meta_v1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "egress.gatehouse.dev/v1alpha1", "kind": "Proxy", "metadata": map[string]any{"name": "px"},
		"spec": map[string]any{"mode": "Managed", "provider": "kubernetes", "image": "forward:1", "auth": map[string]any{"secretRef": map[string]any{"name": "auth"}}},
	}}
	if _, err := to.Create(t.Context(), p, meta_v1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestFleetRights: what the roles give is enough, in all namespaces or in one, and without
// any one of them the fleet says which it misses.
func TestFleetRights(t *testing.T) {
	c := cluster.Shared(t)
	proxies(t, c)
	program := binary(t)
	t.Run("in all namespaces", func(t *testing.T) { fleetWorks(t, c, program, "") })
	t.Run("in one namespace", func(t *testing.T) { fleetWorks(t, c, program, "watchNamespaces: [NAMESPACE]") })
	secrets := 0
	for _, cut := range cuts(t, fleet(t, "egress", "watchNamespaces: [NAMESPACE]")) {
		if cut.name == "get [secrets]" {
			if secrets++; secrets > 1 { // that of the leases is one of the namespace's, which may all be read
				continue
			}
		}
		t.Run("without "+cut.name, func(t *testing.T) { fleetMisses(t, c, program, cut) })
	}
}

func fleetWorks(t *testing.T, c *cluster.Cluster, program, values string) {
	t.Helper()
	namespace := restricted(t, c)
	apply(t, c, namespace, fleet(t, namespace, values))
	p := start(t, c, namespace, "fleet", program)
	until(t, "it is ready", p.ready)
	objects := oneProxy(t, c, namespace)
	pods := c.Client().CoreV1().Pods(namespace)
	mine := meta_v1.ListOptions{LabelSelector: "proxy-operator-uid"}
	until(t, "there is a pod", func(ctx context.Context) error {
		all, err := pods.List(ctx, mine)
		if err != nil || len(all.Items) != 1 {
			return fmt.Errorf("%d pods, %w; it says:\n%s", len(all.Items), err, p.log.String())
		}
		return nil
	})
	if err := objects.Delete(t.Context(), "px", meta_v1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the pod and the Proxy are gone", func(ctx context.Context) error {
		all, err := pods.List(ctx, mine)
		left, err2 := objects.List(ctx, meta_v1.ListOptions{})
		if err != nil || err2 != nil || len(all.Items)+len(left.Items) > 0 {
			return fmt.Errorf("%v %w %w; it says:\n%s", all.Items, err, err2, p.log.String())
		}
		return nil
	})
	if p.forbidden() {
		t.Errorf("something is forbidden: %s", p.log.String())
	}
	for _, no := range []authorization_v1.ResourceAttributes{
		{Verb: "watch", Resource: "pods"},
		{Verb: "patch", Resource: "pods"},
		{Verb: "create", Resource: "secrets"},
		{Verb: "update", Resource: "secrets"},
		{Verb: "create", Group: "egress.gatehouse.dev", Resource: "proxies"},
		{Verb: "delete", Group: "egress.gatehouse.dev", Resource: "proxies"},
		{Verb: "get", Resource: "namespaces", Name: namespace},
		{Verb: "delete", Group: "coordination.k8s.io", Resource: "leases"},
	} {
		no.Namespace = namespace
		ask := &authorization_v1.SubjectAccessReview{Spec: authorization_v1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + namespace + ":fleet", ResourceAttributes: &no,
		}}
		answer, err := c.Client().AuthorizationV1().SubjectAccessReviews().Create(t.Context(), ask, meta_v1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if answer.Status.Allowed {
			t.Errorf("it may %s %s %s", no.Verb, no.Resource, no.Name)
		}
	}
}

func fleetMisses(t *testing.T, c *cluster.Cluster, program string, cut cut) {
	t.Helper()
	namespace := restricted(t, c)
	all := fleet(t, namespace, "watchNamespaces: [NAMESPACE]")
	cut.from(all)
	apply(t, c, namespace, all)
	p := start(t, c, namespace, "fleet", program)
	until(t, "it says what it misses", func(context.Context) error {
		for line := range strings.SplitSeq(p.log.String(), "\n") {
			if strings.Contains(line, "missing") && strings.Contains(line, cut.verb+" ") {
				return nil
			}
			if strings.Contains(line, "a right is missing") { // the first question is already refused
				return nil
			}
		}
		return fmt.Errorf("it says:\n%s", p.log.String())
	})
}
