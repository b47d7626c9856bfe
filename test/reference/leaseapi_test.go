package reference

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
)

// TestReferenceIsFreshForPrograms too: the description of the lease API is the one that is
// served.
func TestReferenceIsFreshForPrograms(t *testing.T) {
	path := filepath.Join(folder, "lease-api.json")
	if *update {
		if err := os.WriteFile(path, discovery.OpenAPI, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, discovery.OpenAPI) {
		t.Errorf("lease-api.json is not what is served (%v); run 'go generate ./test/reference'", err)
	}
}

// leaseAPI is as much of OpenAPI as the description uses.
type leaseAPI struct {
	Info struct{ Description string }
	// Paths have operations by method, and parameters.
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Schemas   map[string]apiSchema
		Responses map[string]apiResponse
	}
}

type apiOperation struct {
	Summary, Description string
	Parameters           []struct{ Name, In, Description string }
	RequestBody          *struct {
		Content map[string]struct{ Schema apiSchema }
	}
	Responses map[string]apiResponse
}

type apiResponse struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]struct{ Schema apiSchema }
}

type apiSchema struct {
	Ref         string `json:"$ref"`
	Description string
	Properties  map[string]apiSchema
	Required    []string
	AllOf       []apiSchema
	Enum        []string
	OneOf       []struct{ Const, Description string }
}

// leaseAPIPage is the description for people.
func leaseAPIPage(t *testing.T) []byte {
	t.Helper()
	var d leaseAPI
	if err := json.Unmarshal(discovery.OpenAPI, &d); err != nil {
		t.Fatal(err)
	}
	m := &markdown{}
	m.text("# The lease API")
	m.text("`gatehouse fleet` serves it at `--lease-address` (default http://127.0.0.1:8090), and its description for programs, [OpenAPI 3.1](lease-api.json), at `/openapi.json`.")
	m.text("%s", d.Info.Description)
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			if method != "parameters" {
				d.operation(t, m, strings.ToUpper(method)+" "+path, d.Paths[path][method])
			}
		}
	}
	m.text("## Bodies")
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		d.body(m, name)
	}
	m.text("## Codes")
	m.text("A refusal is `{\"error\":CODE,\"message\":LINE}`, with `field` where one field is refused.")
	m.head("code", "status", "meaning")
	for _, one := range d.Components.Schemas["Code"].OneOf {
		m.row(code(one.Const), statusOf(one.Const), one.Description)
	}
	return m.Bytes()
}

func statusOf(text string) string {
	n, _ := json.Marshal(discovery.Code(text).Status())
	return string(n)
}

func (d *leaseAPI) operation(t *testing.T, m *markdown, title string, raw json.RawMessage) {
	t.Helper()
	var o apiOperation
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	m.text("## %s", code(title))
	m.text("%s", strings.TrimSpace(o.Summary+". "+o.Description))
	for _, p := range o.Parameters {
		m.text("- %s (%s): %s", code(p.Name), p.In, p.Description)
	}
	if o.RequestBody != nil {
		m.text("The body is a %s.", refName(o.RequestBody.Content["application/json"].Schema.Ref))
	}
	m.head("status", "body", "when")
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		r := o.Responses[status]
		if r.Ref != "" {
			r = d.Components.Responses[refName(r.Ref)]
		}
		m.row(status, bodyOf(r), r.Description)
	}
	m.gap()
}

// bodyOf names the schema of a success, and the codes of a refusal.
func bodyOf(r apiResponse) string {
	schema := r.Content["application/json"].Schema
	if schema.Ref != "" {
		return refName(schema.Ref)
	}
	for _, part := range schema.AllOf {
		if codes := part.Properties["error"].Enum; len(codes) > 0 {
			return code(strings.Join(codes, "`, `"))
		}
	}
	return ""
}

func refName(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

func (d *leaseAPI) body(m *markdown, name string) {
	s := d.Components.Schemas[name]
	if len(s.Properties) == 0 {
		return
	}
	m.text("### %s", name)
	if s.Description != "" {
		m.text("%s", s.Description)
	}
	m.head("field", "always there", "meaning")
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		always, p := "no", s.Properties[field]
		if slices.Contains(s.Required, field) {
			always = "yes"
		}
		if p.Ref != "" {
			p.Description = strings.TrimSpace("A " + refName(p.Ref) + ". " + p.Description)
		}
		m.row(code(field), always, p.Description)
	}
	m.gap()
}
