package schema

import (
	structural_schema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiserver/pkg/cel/common"
)

// knownSchema is a schema for CEL values that has its inner schemas at hand. The
// library's own makes them at each call.
type knownSchema struct {
	model.Structural
	items, values *knownSchema
	fields        map[string]*knownSchema
	properties    map[string]common.Schema
}

func remember(s *structural_schema.Structural) *knownSchema {
	out := &knownSchema{Structural: model.Structural{Structural: s}}
	if s.Items != nil {
		out.items = remember(s.Items)
	}
	if more := s.AdditionalProperties; more != nil && more.Structural != nil {
		out.values = remember(more.Structural)
	}
	if s.Properties == nil {
		return out
	}
	out.fields, out.properties = map[string]*knownSchema{}, map[string]common.Schema{}
	for name, property := range s.Properties {
		inner := remember(&property)
		out.fields[name], out.properties[name] = inner, inner
	}
	return out
}

// Items is nil if the schema has none.
func (s *knownSchema) Items() common.Schema {
	if s.items == nil {
		return nil
	}
	return s.items
}

// Properties is nil if the schema has none.
func (s *knownSchema) Properties() map[string]common.Schema { return s.properties }

// AdditionalProperties is nil if the schema says nothing of them.
func (s *knownSchema) AdditionalProperties() common.SchemaOrBool {
	if s.Structural.Structural.AdditionalProperties == nil {
		return nil
	}
	return s
}

// Schema is that of additional properties; nil if there is none.
func (s *knownSchema) Schema() common.Schema {
	if s.values == nil {
		return nil
	}
	return s.values
}

// Allows reports whether additional properties are allowed without a schema.
func (s *knownSchema) Allows() bool { return s.Structural.Structural.AdditionalProperties.Bool }
