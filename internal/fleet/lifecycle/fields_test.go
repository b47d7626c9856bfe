package lifecycle

import (
	"maps"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
)

// optional are the optional fields of a spec that providers differ in.
var optional = map[string]func(*egress_v1alpha1.ProxySpec){
	"zone":              func(s *egress_v1alpha1.ProxySpec) { s.Zone = "europe-west1-b" },
	"machineType":       func(s *egress_v1alpha1.ProxySpec) { s.MachineType = "m" },
	"image":             func(s *egress_v1alpha1.ProxySpec) { s.Image = "i" },
	"spot":              func(s *egress_v1alpha1.ProxySpec) { s.Spot = true },
	"network":           func(s *egress_v1alpha1.ProxySpec) { s.Network = &egress_v1alpha1.Network{Network: "n"} },
	"providerConfigRef": func(s *egress_v1alpha1.ProxySpec) { s.ProviderConfigRef = &egress_v1alpha1.LocalRef{Name: "c"} },
	"cloudInit":         func(s *egress_v1alpha1.ProxySpec) { s.CloudInit = &egress_v1alpha1.CloudInit{Inline: "x"} },
	"endpoint.host":     func(s *egress_v1alpha1.ProxySpec) { s.Endpoint = &egress_v1alpha1.Endpoint{Host: "proxy.example"} },
}

// TestFieldsOfProviders is the table of which provider, or mode, takes which field.
func TestFieldsOfProviders(t *testing.T) {
	for name, taken := range map[string]string{
		"gcp":        "zone machineType image spot network providerConfigRef cloudInit",
		"hetzner":    "zone machineType image providerConfigRef cloudInit",
		"kubernetes": "zone image",
		"process":    "",
		"External":   "endpoint.host",
	} {
		for field, give := range optional {
			p := of(name)
			give(&p.Spec)
			takes := strings.Contains(" "+taken+" ", " "+field+" ")
			if err := FieldProblem(p); (err == nil) != takes {
				t.Errorf("%s with %s: %v, want it taken: %v", name, field, err, takes)
			}
		}
	}
}

// of returns a Proxy of a provider, or of mode External, with what it must have.
func of(name string) *egress_v1alpha1.Proxy {
	return proxy(func(p *egress_v1alpha1.Proxy) {
		p.Spec.Provider = name
		switch name {
		case "gcp":
			p.Spec.Zone = "europe-west1-b"
		case "External":
			p.Spec = egress_v1alpha1.ProxySpec{Mode: egress_v1alpha1.External, Endpoint: &egress_v1alpha1.Endpoint{Host: "proxy.example"}}
		}
	})
}

// TestTheDefinitionSaysTheSame: what an API server refuses by the custom resource
// definition, and what is refused here, are the same fields.
func TestTheDefinitionSaysTheSame(t *testing.T) {
	v := schema.New(schema.Options{Kinds: []snapshot.Kind{{
		Name: "Proxy", Group: egress_v1alpha1.Group, Versions: []string{egress_v1alpha1.Version}, Plural: "proxies",
		New: func() snapshot.Object { return new(egress_v1alpha1.Proxy) },
	}}})
	fields := maps.Clone(optional)
	fields["nothing"] = func(*egress_v1alpha1.ProxySpec) {}
	fields["less than it must have"] = func(s *egress_v1alpha1.ProxySpec) { s.Zone, s.Endpoint = "", nil }
	for _, name := range []string{"gcp", "hetzner", "kubernetes", "process", "External"} {
		for field, give := range fields {
			p := of(name)
			give(&p.Spec)
			ours := FieldProblem(p)
			if theirs := refusedBy(t, v, p); (ours == nil) != (theirs == "") {
				t.Errorf("%s with %s: %v, the definition: %q", name, field, ours, theirs)
			}
		}
	}
}

func refusedBy(t *testing.T, v *schema.Validator, p *egress_v1alpha1.Proxy) string {
	t.Helper()
	p = &egress_v1alpha1.Proxy{Kind: "Proxy", APIVersion: egress_v1alpha1.GroupVersion.String(), Namespace: p.Namespace, Name: p.Name, Spec: p.Spec}
	text, err := yaml.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	problems := v.Decode(schema.Document{Text: text}, nil)[0].Problems
	if len(problems) == 0 {
		return ""
	}
	return problems[0].Message
}

func TestAFieldErrorNamesAllThatIsNeeded(t *testing.T) {
	err := FieldProblem(proxy(func(p *egress_v1alpha1.Proxy) { p.Spec.MachineType = "e2-micro" }))
	if want := "proxy crawl/a: spec.machineType: e2-micro: provider process has no use for it: remove it, or choose one of gcp, hetzner"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
