package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// FieldError is a value that a Proxy must not have.
type FieldError struct {
	// Object is "proxy NAMESPACE/NAME", Field a path like spec.zone.
	Object, Field, Value string
	// Err is why not, and what to do.
	Err error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: %s: %s: %v", e.Object, e.Field, e.Value, e.Err)
}

// Unwrap returns why not.
func (e *FieldError) Unwrap() error { return e.Err }

func object(p *egress_v1alpha1.Proxy) string { return "proxy " + p.Namespace + "/" + p.Name }

// takes says which optional fields of spec each provider has a use for. Schemas of the
// API server say the same; files and older servers have only this.
var takes = map[string][]string{
	"gcp":        {"zone", "machineType", "image", "spot", "network", "providerConfigRef", "cloudInit"},
	"hetzner":    {"zone", "machineType", "image", "providerConfigRef", "cloudInit"},
	"kubernetes": {"zone", "image"},
	"process":    {},
}

// boots says whether instances of a provider boot an operating system that reads user
// data.
func boots(name string) bool { return slices.Contains(takes[name], "cloudInit") }

// given returns the optional fields of spec that are set, with their values, in the
// order of the schema.
func given(s *egress_v1alpha1.ProxySpec) []field {
	return slices.DeleteFunc([]field{
		{"zone", s.Zone, s.Zone != ""},
		{"machineType", s.MachineType, s.MachineType != ""},
		{"image", s.Image, s.Image != ""},
		{"spot", "true", s.Spot},
		{"network", "{…}", s.Network != nil},
		{"providerConfigRef", "{…}", s.ProviderConfigRef != nil},
		{"cloudInit", "{…}", s.CloudInit != nil},
	}, func(f field) bool { return !f.set })
}

type field struct {
	name, value string
	set         bool
}

// FieldProblem returns the first field of p that its mode or provider has no use for, or
// lacks, as a [FieldError]: what would be ignored is refused.
func FieldProblem(p *egress_v1alpha1.Proxy) error {
	external := p.Spec.Mode == egress_v1alpha1.External
	allowed := takes[p.Spec.Provider]
	for _, f := range given(&p.Spec) {
		switch {
		case external:
			return wrong(p, f.name, f.value, "mode External has no use for it: remove it")
		case !slices.Contains(allowed, f.name):
			return wrong(p, f.name, f.value, fmt.Sprintf("provider %s has no use for it: remove it, or choose one of %s", p.Spec.Provider, strings.Join(taking(f.name), ", ")))
		}
	}
	host := ""
	if e := p.Spec.Endpoint; e != nil {
		host = e.Host
	}
	switch {
	case external && p.Spec.Provider != "":
		return wrong(p, "provider", p.Spec.Provider, "mode External has no use for it: remove it")
	case external && host == "":
		return wrong(p, "endpoint.host", `""`, "mode External needs it: give an address or a DNS name")
	case !external && host != "":
		return wrong(p, "endpoint.host", host, "a managed proxy gets its address from the provider: remove it, or choose mode External")
	case p.Spec.Provider == "gcp" && p.Spec.Zone == "":
		return wrong(p, "zone", `""`, "provider gcp needs it: give a zone such as europe-west1-b")
	}
	return nil
}

func wrong(p *egress_v1alpha1.Proxy, field, value, why string) error {
	return &FieldError{Object: object(p), Field: "spec." + field, Value: value, Err: errors.New(why)}
}

// taking returns the providers that take a field, sorted.
func taking(field string) []string {
	var names []string
	for name, fields := range takes {
		if slices.Contains(fields, field) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// impossible says why p cannot have an instance as long as neither it nor the settings
// change; nil if it may.
func impossible(s *State) error {
	p := s.Proxy
	for _, name := range []string{p.Spec.Provider, Maker(p)} {
		if !slices.Contains(s.Providers, name) {
			return unknownProvider(p, name, s.Providers)
		}
	}
	return FieldProblem(p)
}

func unknownProvider(p *egress_v1alpha1.Proxy, name string, known []string) error {
	list := "none is"
	if len(known) > 0 {
		list = "on are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
	}
	return &FieldError{
		Object: object(p), Field: "spec.provider", Value: fmt.Sprintf("%q", name),
		Err: fmt.Errorf("is not on (%s): add it to --providers", list),
	}
}
