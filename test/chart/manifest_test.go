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

// The plain manifests are those of a release with the chart's defaults, but for the key
// of cancels, which is nobody else's business.
const (
	manifest = "../../deploy/postgres/gatehouse-postgres.yaml"
	plain    = "cancelPeers: { secretName: gatehouse-postgres-cancel }"
	head     = `# Generated from charts/gatehouse-postgres by "go generate ./test/chart"; do not edit.
#
#   kubectl create namespace gatehouse
#   kubectl create secret generic gatehouse-postgres-cancel -n gatehouse --from-file=key=<(head -c 32 /dev/urandom)
#   kubectl apply -f gatehouse-postgres.yaml
`
)

func TestManifestIsFresh(t *testing.T) {
	rendered, err := Render("gatehouse-postgres", "gatehouse", plain)
	if err != nil {
		t.Fatal(err)
	}
	want := append([]byte(head), rendered...)
	if *update {
		if err := os.WriteFile(manifest, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatalf("%v; run 'go generate ./test/chart'", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("it is not what the chart says; run 'go generate ./test/chart' (-manifest +chart):\n%s", cmp.Diff(string(got), string(want)))
	}
}
