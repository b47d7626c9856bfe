package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiscoveryMode(t *testing.T) {
	file := "KUBECONFIG=" + pemFile(t, "kubeconfig")
	for _, c := range []struct {
		environ string
		want    DiscoveryMode
	}{
		{oneBackend, DiscoveryStatic},
		{oneBackend + " RUNTIME=k8s", DiscoveryStatic},
		{oneBackend + " " + file, DiscoveryStatic},
		{oneBackend + " DISCOVERY_MODE=Static", DiscoveryStatic},
		{oneBackend + " DISCOVERY_MODE=kubernetes", DiscoveryKubernetes},
		{"DISCOVERY_MODE=k8s", DiscoveryKubernetes},
		{"RUNTIME=k8s", DiscoveryKubernetes},
		{file, DiscoveryKubernetes},
		{"KUBE_CONTEXT=prod", DiscoveryKubernetes},
	} {
		got, err := router(strings.Fields(c.environ))
		if err != nil || got.Postgres.Discovery != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.environ, got.Postgres.Discovery, err, c.want)
		}
	}
}

func TestKubernetesSettings(t *testing.T) {
	file := pemFile(t, "kubeconfig")
	got, err := router([]string{
		"KUBECONFIG=/nowhere:" + file, "KUBE_CONTEXT=prod", "NAMESPACE=db", "POD_NAMESPACE=other",
		"DISCOVERY_NAMESPACES=shop, data,shop", "CLUSTER_DOMAIN=corp.example", "ALLOW_LOCAL_ENDPOINTS=true",
	})
	want := Kubernetes{
		Kubeconfig: "/nowhere:" + file, Context: "prod", Namespace: "db",
		Namespaces: []string{"shop", "data"}, ClusterDomain: "corp.example", AllowLocal: true,
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Postgres.Kubernetes); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if got, err := router([]string{oneBackend, "POD_NAMESPACE=db"}); err != nil || got.Postgres.Kubernetes.Namespace != "db" {
		t.Errorf("got %+v, %v; want the pod's namespace", got.Postgres.Kubernetes, err)
	}
}

func TestKubernetesErrors(t *testing.T) {
	for environ, want := range map[string]string{
		"":                        "--static-backends or $STATIC_BACKENDS: is missing: name the servers, for example orders=127.0.0.1:5433, or the cluster to find them in, with --kubeconfig or $KUBECONFIG",
		"DISCOVERY_MODE=static":   "--static-backends or $STATIC_BACKENDS: is missing: name the servers, for example orders=127.0.0.1:5433, or find them in a cluster",
		"KUBECONFIG=/nowhere":     `$KUBECONFIG: "/nowhere" does not exist; name the kubeconfig of the cluster`,
		"NAMESPACE=Bad":           `$NAMESPACE: "Bad" must be the name of a namespace`,
		"POD_NAMESPACE=a.b":       `$POD_NAMESPACE: "a.b" must be the name of a namespace`,
		"DISCOVERY_NAMESPACES=a,": `$DISCOVERY_NAMESPACES: "a," must be names of namespaces with commas`,
		"CLUSTER_DOMAIN=.local":   `$CLUSTER_DOMAIN: ".local" must be a domain`,
	} {
		_, err := router([]string{environ})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", environ, err, want)
		}
	}
}

// What is set in vain is told, above all a kubeconfig.
func TestKubernetesWarnings(t *testing.T) {
	for environ, want := range map[string]string{
		"KUBECONFIG=/home/ann/.kube/config": "$KUBECONFIG has no effect: servers are those of STATIC_BACKENDS",
		"DISCOVERY_NAMESPACES=a":            "$DISCOVERY_NAMESPACES has no effect: servers are those of STATIC_BACKENDS",
		"DISCOVERY_MODE=kubernetes":         "$STATIC_BACKENDS has no effect: servers are found in Kubernetes",
	} {
		got, err := router([]string{oneBackend, environ})
		if err != nil || len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], want) {
			t.Errorf("%s: got %q, %v; want %s", environ, got.Warnings, err, want)
		}
	}
}
