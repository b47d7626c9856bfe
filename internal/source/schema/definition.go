package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensions_v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural_schema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	cel_limits "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-proxy/gatehouse/config/crd"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

// definition is a kind's schema in one version and channel, ready to use.
type definition struct {
	structural  *structural_schema.Structural
	form        *form
	openapi     validation.SchemaValidator
	rules       *ruleTree
	simple      bool                  // rules has all of them; else only the library can judge
	library     func() *cel.Validator // compiled when it is first needed; nil without rules
	transitions bool                  // some rule compares with the previous revision
}

// definitionID names a definition.
type definitionID struct {
	kind, version string
	channel       crd.Channel
}

// definitions compiles each definition once, when it is first needed. Safe for
// concurrent use; readers of different kinds do not wait for each other.
type definitions struct {
	mu    sync.Mutex
	byID  map[definitionID]func() (*definition, error)
	files map[string]func() (*apiextensions_v1.CustomResourceDefinition, error)
}

// get returns nil without an error if the channel does not serve the version.
func (d *definitions) get(kind snapshot.Kind, version string, channel crd.Channel) (*definition, error) {
	id := definitionID{kind.Name, version, channel}
	d.mu.Lock()
	load, ok := d.byID[id]
	if !ok {
		load = sync.OnceValues(func() (*definition, error) { return d.compile(kind, version, channel) })
		d.byID[id] = load
	}
	d.mu.Unlock()
	return load()
}

// file returns the parsed definition of a kind, or nil if the channel has none.
func (d *definitions) file(kind snapshot.Kind, channel crd.Channel) (*apiextensions_v1.CustomResourceDefinition, error) {
	name := string(channel) + "/" + kind.Name
	d.mu.Lock()
	load, ok := d.files[name]
	if !ok {
		load = sync.OnceValues(func() (*apiextensions_v1.CustomResourceDefinition, error) {
			raw, err := crd.Read(channel, kind.Group, kind.Plural)
			if err != nil {
				return nil, nil // the channel has no such kind
			}
			return parseDefinition(kind.Name, raw)
		})
		d.files[name] = load
	}
	d.mu.Unlock()
	return load()
}

// parseDefinition minds that JSON parses many times faster than YAML.
func parseDefinition(name string, raw []byte) (*apiextensions_v1.CustomResourceDefinition, error) {
	unmarshal := json.Unmarshal
	if raw[0] != '{' {
		unmarshal = func(b []byte, v any) error { return yaml.Unmarshal(b, v) }
	}
	out := new(apiextensions_v1.CustomResourceDefinition)
	if err := unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("parse definition of %s: %w", name, err)
	}
	return out, nil
}

func (d *definitions) compile(kind snapshot.Kind, version string, channel crd.Channel) (*definition, error) {
	file, err := d.file(kind, channel)
	if file == nil || err != nil {
		return nil, err
	}
	for _, v := range file.Spec.Versions {
		if v.Name == version && v.Served {
			return compileSchema(kind.Name+" "+version, v.Schema.OpenAPIV3Schema)
		}
	}
	return nil, nil
}

func compileSchema(name string, props *apiextensions_v1.JSONSchemaProps) (*definition, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensions_v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &internal, nil); err != nil {
		return nil, fmt.Errorf("convert schema of %s: %w", name, err)
	}
	s, err := structural_schema.NewStructural(&internal)
	if err != nil {
		return nil, fmt.Errorf("schema of %s is not structural: %w", name, err)
	}
	openapi, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, fmt.Errorf("compile schema of %s: %w", name, err)
	}
	def := &definition{
		structural: s, form: formOf(s), openapi: openapi, transitions: hasTransitions(s),
		library: sync.OnceValue(func() *cel.Validator { return cel.NewValidator(s, true, cel_limits.PerCallLimit) }),
	}
	delete(def.form.fields, "status") // a draft has none but the schema's default
	def.rules, def.simple = compileRules(s)
	return def, nil
}

// hasTransitions reports whether a rule at or under s reads the previous revision.
func hasTransitions(s *structural_schema.Structural) bool {
	if s == nil {
		return false
	}
	for _, r := range s.XValidations {
		if strings.Contains(r.Rule, "oldSelf") {
			return true
		}
	}
	for _, p := range s.Properties {
		if hasTransitions(&p) {
			return true
		}
	}
	if s.AdditionalProperties != nil && hasTransitions(s.AdditionalProperties.Structural) {
		return true
	}
	return hasTransitions(s.Items)
}
