package kubernetes

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// request is one with everything that a pod is made from.
func request() provider.CreateRequest {
	const uid = "0f8fad5b-d9cb-469f-a165-70867728950e"
	return provider.CreateRequest{
		Name: provider.NameFromUID(uid), UID: uid, Cluster: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
		Hash: strings.Repeat("0123456789abcdef", 4), Namespace: "crawl", Proxy: "px-fra-1",
		Zone: "europe-west1-b", Image: "registry.example/gatehouse-forward:0.1.0@sha256:" + strings.Repeat("5e", 32),
		Port: 3128, Scheme: "http", AuthSecret: "px-auth",
		Credentials: provider.Credentials{Username: "alice", Password: "c0rrect-horse", LeaseKey: []byte("a key of thirty-two bytes, or so")},
	}
}

func TestBuildPod(t *testing.T) {
	bare := request()
	bare.Zone, bare.Image, bare.AuthSecret, bare.Credentials = "", "", "", provider.Credentials{}
	bare.Port, bare.Scheme = 1080, "socks5"
	low := request()
	low.Port, low.Scheme = 443, "https"
	template := Template{Image: "registry.example/gatehouse-forward:0.1.0"}
	with := template
	with.AllowDestinations = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	open := template
	open.AllowSources = []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	for name, c := range map[string]struct {
		template Template
		request  provider.CreateRequest
	}{
		"full": {template, request()}, "bare": {open, bare}, "low port": {with, low},
	} {
		t.Run(name, func(t *testing.T) {
			pod, err := buildPod(c.template, c.request)
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(pod)
			if err != nil {
				t.Fatal(err)
			}
			if text := string(got); strings.Contains(text, "c0rrect") || strings.Contains(text, "alice") || strings.Contains(text, "a key of") {
				t.Error("a credential is in the pod")
			}
			golden(t, name, got)
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".yaml")
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); -update rewrites it:\n%s", path, diff)
	}
}

// What gatehouse-forward would not start with is told at once.
func TestBuildPodRefusesOpenProxies(t *testing.T) {
	r := request()
	r.AuthSecret, r.Credentials = "", provider.Credentials{}
	if _, err := buildPod(Template{}, r); err == nil || !strings.Contains(err.Error(), "spec.auth is missing") {
		t.Errorf("without credentials: %v", err)
	}
	r.Scheme = "https"
	if _, err := buildPod(Template{AllowSources: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}, r); err == nil || !strings.Contains(err.Error(), "tls.crt and tls.key") {
		t.Errorf("without certificate: %v", err)
	}
}

func TestBuildPodRefusesImages(t *testing.T) {
	for image, want := range map[string]string{
		"":                     "spec.image is empty and there is no default",
		"a b":                  `spec.image "a b" is no name of an image`,
		"https://example/name": "write it as registry.example/name:tag",
		"name:":                "write it as",
		"name\n":               "write it as",
	} {
		r := request()
		r.Image = image
		if _, err := buildPod(Template{}, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("image %q: %v, want %q", image, err, want)
		}
	}
	for _, image := range []string{"gatehouse-forward", "localhost:5000/a/b_c:V1", "[::1]:5000/a@sha256:00"} {
		if err := checkImage(image); err != nil {
			t.Error(err)
		}
	}
}
