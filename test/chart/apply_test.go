package chart

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := cluster.EndShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// eventually is more than what a busy machine needs.
const eventually = time.Minute

// until waits until check returns nil.
func until(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	cluster.Until(t, eventually, what, check)
}

// restricted makes a namespace that takes only pods of the restricted standard.
func restricted(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	name := c.Namespace(t)
	patch := `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`
	if _, err := c.Client().CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType, []byte(patch), meta_v1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// apply applies objects as "kubectl apply --server-side" does, and fails on fields that
// the API server does not know. Those outside of the namespace go with the test.
func apply(t *testing.T, c *cluster.Cluster, namespace string, objects []*unstructured.Unstructured) {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client().Discovery()))
	for _, o := range objects {
		kind := o.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		to := client.Resource(mapping.Resource).Namespace(o.GetNamespace())
		options := meta_v1.PatchOptions{FieldManager: "test", FieldValidation: meta_v1.FieldValidationStrict}
		if _, err := to.Patch(t.Context(), o.GetName(), types.ApplyPatchType, raw, options); err != nil {
			t.Fatalf("apply %s %s: %v", kind.Kind, o.GetName(), err)
		}
		if o.GetNamespace() != namespace {
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), eventually)
				defer cancel()
				if err := to.Delete(ctx, o.GetName(), meta_v1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// objects renders the chart.
func objects(t *testing.T, namespace, values string) []*unstructured.Unstructured {
	t.Helper()
	rendered, err := Render(Router, "router", namespace, values)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Objects(rendered)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestApply: an API server that enforces the restricted standard takes everything, and
// the Deployment gets its pods.
func TestApply(t *testing.T) {
	c := cluster.Shared(t)
	for name, values := range map[string]string{
		"defaults": "",
		"nothing":  "{tls: {enabled: false}, cancelPeers: {enabled: false}, networkPolicy: {enabled: false}, podDisruptionBudget: {enabled: false}}",
		"everything": `
settings: { MAX_CONNECTIONS: "20000" }
image: { repository: example.org/gatehouse, tag: v1, pullPolicy: Always }
imagePullSecrets: [{ name: pull }]
replicas: 2
discovery: { namespaces: [default], clusterDomain: example.org }
tls: { required: true, secretName: given }
cancelPeers: { secretName: given }
service: { type: LoadBalancer, port: 15432, externalTrafficPolicy: Local, annotations: { a: b } }
networkPolicy: { clients: [{ podSelector: {} }], monitoring: [{ podSelector: {} }] }
podAnnotations: { a: b }
podLabels: { a: b }
nodeSelector: { a: b }
tolerations: [{ key: a, operator: Exists }]
priorityClassName: system-cluster-critical`,
	} {
		t.Run(name, func(t *testing.T) {
			namespace := restricted(t, c)
			apply(t, c, namespace, objects(t, namespace, values))
			until(t, "the Deployment has its pods", func(ctx context.Context) error {
				d, err := c.Client().AppsV1().Deployments(namespace).Get(ctx, "router", meta_v1.GetOptions{})
				if err != nil {
					return err
				}
				if d.Status.Replicas != 2 {
					return fmt.Errorf("it has %d: %v", d.Status.Replicas, d.Status.Conditions)
				}
				return nil
			})
		})
	}
}

// TestWrongValues: what the chart does not know is refused.
func TestWrongValues(t *testing.T) {
	for values, want := range map[string]string{
		"replica: 3":                   "replica",
		"settings: { maxCon: '1' }":    "maxCon",
		"settings: { DEBUG: true }":    "/settings/DEBUG",
		"tls: { secret: x }":           "secret",
		"service: { port: postgres }":  "/service/port",
		"discovery: { namespaces: x }": "/discovery/namespaces",
	} {
		if _, err := Render(Router, "router", "db", values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", values, err, want)
		}
	}
}
