package chart

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//go:generate go test . -run TestManifestIsFresh -update

var update = flag.Bool("update", false, "write the plain manifests")

// manifests are the plain ones: those of a release with the chart's defaults, but for the
// key of cancels, which is nobody else's business.
var manifests = []struct{ path, folder, name, values, head string }{
	{
		"../../deploy/postgres/gatehouse-postgres.yaml", Router, "gatehouse-postgres", "cancelPeers: { secretName: gatehouse-postgres-cancel }",
		`# Generated from charts/gatehouse-postgres by "go generate ./test/chart"; do not edit.
#
#   kubectl create namespace gatehouse
#   kubectl create secret generic gatehouse-postgres-cancel -n gatehouse --from-file=key=<(head -c 32 /dev/urandom)
#   kubectl apply -f gatehouse-postgres.yaml
`,
	},
	{
		"../../deploy/fleet/gatehouse-fleet.yaml", Fleet, "gatehouse-fleet", "",
		`# Generated from charts/gatehouse-fleet by "go generate ./test/chart"; do not edit.
#
#   kubectl create namespace gatehouse
#   kubectl apply --server-side -f egress.gatehouse.dev_proxies.yaml   # of config/crd
#   kubectl apply -f gatehouse-fleet.yaml
`,
	},
}

func TestManifestIsFresh(t *testing.T) {
	for _, m := range manifests {
		rendered, err := Render(m.folder, m.name, "gatehouse", m.values)
		if err != nil {
			t.Fatal(err)
		}
		want := append([]byte(m.head), rendered...)
		if *update {
			if err := os.WriteFile(m.path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(m.path)
		if err != nil {
			t.Fatalf("%v; run 'go generate ./test/chart'", err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the chart says; run 'go generate ./test/chart' (-manifest +chart):\n%s", m.path, cmp.Diff(string(got), string(want)))
		}
	}
}
