package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/golden"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

// The conformance module has the suite's manifests. It is fetched for them alone:
// nothing here imports it.
const (
	conformance    = "sigs.k8s.io/gateway-api/conformance@v1.7.0"
	conformanceSum = "h1:8Llf3aLHmeuiKA1AolOpeTIp0tmEuo6BSPOmw/w8tnk="
	infraNamespace = "gateway-conformance-infra"
)

// conformanceDir is where the module is, once its hash is what it should be.
func conformanceDir(t *testing.T) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", conformance)
	command.Dir = t.TempDir() // no module's go.mod and go.sum are touched
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := command.Output()
	var module struct{ Dir, Sum, Error string }
	if json.Unmarshal(out, &module) != nil || module.Error != "" || err != nil {
		t.Fatalf("fetch %s: %s (%v)", conformance, module.Error, err)
	}
	if module.Sum != conformanceSum {
		t.Fatalf("%s has the hash %s, want %s", conformance, module.Sum, conformanceSum)
	}
	return module.Dir
}

// TestConformanceManifests: every object of the conformance suite's manifests loads
// and has a verdict, and the conditions that the test beside them waits for, where
// no proxy has to tell them. Each Gateway has an address of its own, as the suite's
// Gateways share ports.
func TestConformanceManifests(t *testing.T) {
	dir := conformanceDir(t)
	paths, err := filepath.Glob(filepath.Join(dir, "tests", "*.yaml"))
	if err != nil || len(paths) < 140 {
		t.Fatalf("%d manifests, want at least 140 (error: %v)", len(paths), err)
	}
	base, err := os.ReadFile(filepath.Join(dir, "base", "manifests.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	made, got := madeBySuite(t), map[string][]byte{}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			o := example(t, map[string][]byte{
				"base.yaml": resolved(t, base, 1), "made.yaml": made, "test.yaml": resolved(t, text, 10), "class.yaml": []byte(conformanceClass),
			})
			loaded(t, o)
			got[name] = flaws(t, o)
		})
	}
	golden.Load(t, "testdata/conformance.txtar").CheckAll("", got)
	expected, err := os.ReadFile("testdata/conformance-expected.txt")
	if diff := cmp.Diff(string(expected), decided(got)); err != nil || diff != "" {
		t.Errorf("conditions are not what testdata/conformance-expected.txt has from the tests of the suite; it is kept by hand (error: %v, -want +got):\n%s", err, diff)
	}
}

// decided are the flaws that the suite's tests are about, a line each after the name
// of the test. Whether something is programmed follows from the others; where
// server names overlap is told besides. ListenerSets are left to their golden.
func decided(got map[string][]byte) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(got)) {
		for line := range strings.Lines(string(got[name])) {
			if strings.Contains(line, "=") && !strings.Contains(line, ": Programmed=") && !strings.Contains(line, ": OverlappingTLSConfig=") && !strings.HasPrefix(name, "listenerset") {
				b.WriteString(name + ": " + line)
			}
		}
	}
	return b.String()
}

const conformanceClass = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: gatehouse}
spec: {controllerName: ` + Controller + `}
`

// resolved is a manifest with its placeholders resolved as the suite does, without
// Deployments, which no gateway reads, and with an address for each Gateway.
func resolved(t *testing.T, manifest []byte, block int) []byte {
	t.Helper()
	manifest = bytes.ReplaceAll(manifest, []byte("{GATEWAY_CLASS_NAME}"), []byte("gatehouse"))
	manifest = bytes.ReplaceAll(manifest, []byte("{GATEWAY_CONTROLLER_NAME}"), []byte(Controller))
	var out [][]byte
	gateways := 0
	for document := range bytes.SplitSeq(manifest, []byte("\n---")) {
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		switch object["kind"] {
		case "Deployment", nil:
			continue
		case "Gateway":
			gateways++
			spec := object["spec"].(map[string]any)
			addresses, _ := spec["addresses"].([]any)
			spec["addresses"] = addressesOf(addresses, fmt.Sprintf("127.0.%d.%d", block, gateways))
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	return bytes.Join(out, []byte("---\n"))
}

// addressesOf are a Gateway's addresses: its own, or those that its placeholders
// stand for.
func addressesOf(wanted []any, own string) []any {
	var out []any
	for _, a := range wanted {
		if address, is := a.(map[string]any); is && address["type"] == "test/fake-invalid-type" {
			out = append(out, a)
		}
	}
	if len(out) > 0 && len(out) == len(wanted) {
		return out
	}
	return append(out, map[string]any{"type": "IPAddress", "value": own})
}

// madeBySuite are the objects that the suite makes at its start.
func madeBySuite(t *testing.T) []byte {
	t.Helper()
	valid := tlsutil.From(Now.Add(-time.Hour), 365*24*time.Hour)
	ca, err := tlsutil.NewCA("conformance", valid)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	add := func(object any, err error) {
		text, problem := yaml.Marshal(object)
		if err != nil || problem != nil {
			t.Fatal(err, problem)
		}
		out = append(out, text)
	}
	for name, hosts := range map[string][]string{
		"gateway-conformance-web-backend/certificate":                        {"*.example.com"},
		infraNamespace + "/tls-validity-checks-certificate":                  {"*.org", "*.wildcard.org"},
		infraNamespace + "/tls-validity-checks-client-certificate":           {"client.example"},
		infraNamespace + "/tls-validity-checks-per-port-client-certificate":  {"client.example"},
		infraNamespace + "/tls-checks-certificate":                           {"abc.example.com"},
		infraNamespace + "/tls-checks-client-certificate":                    {"client.example"},
		infraNamespace + "/tls-passthrough-checks-certificate":               {"abc.example.com"},
		"gateway-conformance-app-backend/tls-passthrough-checks-certificate": {"abc.example.com"},
		infraNamespace + "/tls-terminate-checks-certificate":                 {"tls.example.com"},
	} {
		namespace, name, _ := strings.Cut(name, "/")
		pair, err := ca.Leaf(valid, hosts...)
		add(core_v1.Secret{
			APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: name,
			Type: core_v1.SecretTypeTLS, Data: map[string][]byte{core_v1.TLSCertKey: pair.Cert, core_v1.TLSPrivateKeyKey: pair.Key},
		}, err)
	}
	for _, name := range []string{
		"gateway-conformance-web-backend/web-backend-cm", infraNamespace + "/tls-validity-checks-ca-certificate",
		infraNamespace + "/tls-validity-checks-per-port-ca-certificate", infraNamespace + "/tls-checks-ca-certificate", infraNamespace + "/mismatch-ca-certificate",
	} {
		namespace, name, _ := strings.Cut(name, "/")
		add(core_v1.ConfigMap{
			APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: name,
			Data: map[string]string{"ca.crt": string(ca.Cert)},
		}, nil)
	}
	return bytes.Join(out, []byte("---\n"))
}

// loaded checks that no document of the manifests was refused.
func loaded(t *testing.T, o *Outcome) {
	t.Helper()
	for file, findings := range o.batch.Findings {
		for _, f := range findings {
			t.Errorf("%s: document %d is refused: %+v", filepath.Base(file), f.Document, f)
		}
	}
}

// flaws are the conditions that are not as they are for what serves, a line each,
// of the objects of a test, and what listeners tell besides.
func flaws(t *testing.T, o *Outcome) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, raw := range o.reporter.Objects("", "") {
		var object judged
		if err := json.Unmarshal(raw, &object); err != nil {
			t.Fatal(err)
		}
		name := object.Kind + " " + snapshot.NamespacedName(object.Metadata.Namespace, object.Metadata.Name)
		at := o.batch.Origins[snapshot.Ref(object.Kind, object.Metadata.Namespace, object.Metadata.Name)]
		if filepath.Base(at.File) != "test.yaml" || object.Kind == "GatewayClass" {
			continue
		}
		object.flaws(&b, strings.ReplaceAll(name, infraNamespace+"/", ""))
	}
	return b.Bytes()
}

// judged is what a status says.
type judged struct {
	Kind     string
	Metadata struct{ Namespace, Name string }
	Status   struct {
		Conditions []meta_v1.Condition
		Listeners  []struct {
			Name           string
			AttachedRoutes int
			SupportedKinds []struct{ Kind string }
			Conditions     []meta_v1.Condition
		}
		Parents []struct {
			ParentRef  struct{ Kind, Name, SectionName string }
			Conditions []meta_v1.Condition
		}
		Ancestors []struct {
			AncestorRef struct{ Name string }
			Conditions  []meta_v1.Condition
		}
	}
}

func (j judged) flaws(b *bytes.Buffer, name string) {
	wrong(b, name, j.Status.Conditions)
	for _, l := range j.Status.Listeners {
		var kinds []string
		for _, k := range l.SupportedKinds {
			kinds = append(kinds, k.Kind)
		}
		fmt.Fprintf(b, "%s listener %s: %d routes, takes %v\n", name, l.Name, l.AttachedRoutes, kinds)
		wrong(b, name+" listener "+l.Name, l.Conditions)
	}
	for _, p := range j.Status.Parents {
		wrong(b, strings.TrimSpace(name+" at "+p.ParentRef.Name+" "+p.ParentRef.SectionName), p.Conditions)
	}
	for _, a := range j.Status.Ancestors {
		wrong(b, name+" at "+a.AncestorRef.Name, a.Conditions)
	}
}

// wrong writes the conditions that tell of something unusual.
func wrong(b *bytes.Buffer, name string, conditions []meta_v1.Condition) {
	for _, c := range conditions {
		bad := c.Type == "Conflicted" || c.Type == "PartiallyInvalid" || c.Type == "OverlappingTLSConfig" || c.Type == "InsecureFrontendValidationMode"
		if (c.Status == meta_v1.ConditionTrue) == bad || c.Reason == "ListenersNotValid" {
			fmt.Fprintf(b, "%s: %s=%s %s\n", name, c.Type, c.Status, c.Reason)
		}
	}
}
