package gcp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/gcp"
)

var update = flag.Bool("update", false, "rewrite the goldens")

var noon = time.Date(2026, 11, 30, 12, 0, 30, 0, time.UTC)

// usual is a request of which each test changes something.
func usual(change func(r *provider.CreateRequest)) provider.CreateRequest {
	r := (*world)(nil).Request("0b9a7c52-5f7e-4c8e-9d1b-0c1f2a3b4c5d", "11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa")
	if change != nil {
		change(&r)
	}
	return r
}

func TestBuildInsertRequest(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(r *provider.CreateRequest){
		"external": nil,
		"defaults": func(r *provider.CreateRequest) { r.MachineType, r.Image, r.UserData = "", "", nil },
		"spot": func(r *provider.CreateRequest) {
			r.Spot, r.MachineType, r.Image = true, "e2-small", "projects/debian-cloud/global/images/debian-12-bookworm-v20261110"
		},
		"internal": func(r *provider.CreateRequest) { r.ExternalIP, r.Subnetwork, r.Image = false, "egress", "my-image" },
		"shared-network": func(r *provider.CreateRequest) {
			r.Network, r.Subnetwork = "projects/host-project/global/networks/vpc", "projects/host-project/regions/europe-west1/subnetworks/egress"
			r.Image = "cos-cloud/cos-stable"
		},
		"named-network": func(r *provider.CreateRequest) { r.Network, r.Image = "vpc", "family/proxies" },
		"compressed":    func(r *provider.CreateRequest) { r.UserData = []byte{0x1f, 0x8b, 0xff, 0x00} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, filepath.Join("testdata", name+".json"), build(t, usual(change), noon))
		})
	}
}

func build(t *testing.T, r provider.CreateRequest, now time.Time) *computepb.InsertInstanceRequest {
	t.Helper()
	out, err := gcp.BuildInsertRequest(r, project, now)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// golden compares what goes over the wire.
func golden(t *testing.T, path string, r *computepb.InsertInstanceRequest) {
	t.Helper()
	raw, err := protojson.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var sorted any
	if err := json.Unmarshal(raw, &sorted); err != nil {
		t.Fatal(err)
	}
	got := &bytes.Buffer{}
	e := json.NewEncoder(got)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(sorted); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s differs (-want +got); -update rewrites it:\n%s", path, diff)
	}
}

// TestRequestID: repeats of one request are one to Google, and nothing else is.
func TestRequestID(t *testing.T) {
	t.Parallel()
	id := func(change func(r *provider.CreateRequest), now time.Time) string {
		return build(t, usual(change), now).GetRequestId()
	}
	first := id(nil, noon)
	if again := id(nil, noon.Add(20*time.Second)); again != first {
		t.Errorf("a repeat after 20 s has the request ID %s, the first one %s", again, first)
	}
	seen := map[string]string{first: "the first", gcp.Following(first, "operation-1"): "what follows the first"}
	for what, other := range map[string]string{
		"an hour later": id(nil, noon.Add(time.Hour)),
		"user data":     id(func(r *provider.CreateRequest) { r.UserData = []byte("#cloud-config\n") }, noon),
		"hash":          id(func(r *provider.CreateRequest) { r.Hash = strings.Repeat("f", 64) }, noon),
		"zone":          id(func(r *provider.CreateRequest) { r.Zone = other }, noon),
		"network":       id(func(r *provider.CreateRequest) { r.Network = "vpc" }, noon),
	} {
		if same := seen[other]; same != "" {
			t.Errorf("%s has the request ID of %s", what, same)
		}
		seen[other] = what
	}
}

// TestBadRequests: the error names the field and the value, and nothing is asked.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(r *provider.CreateRequest){
		`spec.zone is empty: give a zone such as europe-west1-b`: func(r *provider.CreateRequest) { r.Zone = "" },
		`spec.zone "europe-west1" is no zone`:                    func(r *provider.CreateRequest) { r.Zone = "europe-west1" },
		`spec.zone "a/../b" is no zone`:                          func(r *provider.CreateRequest) { r.Zone = "a/../b" },
		`name "px-A" is not 1 to 63`:                             func(r *provider.CreateRequest) { r.Name = "px-A" },
		`name "../x" is not`:                                     func(r *provider.CreateRequest) { r.Name = "../x" },
		`label proxy-operator-uid "A" is not`:                    func(r *provider.CreateRequest) { r.UID = "A" },
		`label proxy-operator-cluster "" is not`:                 func(r *provider.CreateRequest) { r.Cluster = "" },
		`label proxy-operator-hash "" is not`:                    func(r *provider.CreateRequest) { r.Hash = "" },
		`spec.machineType "e2 micro" is no machine type`:         func(r *provider.CreateRequest) { r.MachineType = "e2 micro" },
		`spec.image "https://example.com/x" is neither`:          func(r *provider.CreateRequest) { r.Image = "https://example.com/x" },
		`spec.network.network "a?b" is neither`:                  func(r *provider.CreateRequest) { r.Network = "a?b" },
		`spec.network.subnetwork "/x" is neither`:                func(r *provider.CreateRequest) { r.Subnetwork = "/x" },
		`user data of 300000 bytes is longer than the 262144`:    func(r *provider.CreateRequest) { r.UserData = bytes.Repeat([]byte("a"), 300000) },
	} {
		_, err := gcp.BuildInsertRequest(usual(change), project, noon)
		if provider.ClassName(err) != "Permanent" || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want a permanent error with %s", err, want)
		}
	}
	if _, err := gcp.BuildInsertRequest(usual(nil), "", noon); err == nil || !strings.Contains(err.Error(), "no project: give --gcp-project") {
		t.Errorf("without a project: %v", err)
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	const name = "px-11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
	for id, want := range map[string]string{
		"zones/europe-west1-b/instances/" + name:                             "projects/test-project/zones/europe-west1-b/instances/" + name,
		"projects/other-project/zones/us-east1-c/instances/" + name:          "projects/other-project/zones/us-east1-c/instances/" + name,
		"projects/example.com:my-project/zones/us-east1-c/instances/" + name: "projects/example.com:my-project/zones/us-east1-c/instances/" + name,
		"":                                    "",
		name:                                  "",
		"zones//instances/" + name:            "",
		"zones/europe-west1-b/instances/":     "",
		"zones/europe-west1-b/disks/" + name:  "",
		"zones/europe-west1-b/instances/a/b":  "",
		"zones/europe-west1-b/instances/a?b":  "",
		"zones/../instances/" + name:          "",
		"zones/europe-west1-b/instances/../x": "",
		"projects//zones/europe-west1-b/instances/" + name:      "",
		"projects/UPPER/zones/europe-west1-b/instances/" + name: "",
	} {
		at, err := gcp.ParseID(id, project)
		switch {
		case want == "" && provider.ClassName(err) != "Permanent":
			t.Errorf("%q: %v, want a permanent error", id, err)
		case want != "" && (err != nil || at.String() != want):
			t.Errorf("%q: %v, %v; want %s", id, at, err, want)
		}
	}
}
