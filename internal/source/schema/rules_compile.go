package schema

import (
	cel_go "github.com/google/cel-go/cel"
	structural_schema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	cel_limits "k8s.io/apiserver/pkg/apis/cel"
	apiserver_cel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// compileRules returns the rules of a whole schema. It is false if there is one
// that only the library can judge: one that reads the previous revision, does not
// compile, is about an embedded object, or stands beside the schema's own fields.
func compileRules(s *structural_schema.Structural) (tree *ruleTree, ok bool) {
	if hasTransitions(s) {
		return nil, false
	}
	c := ruleCompiler{ok: true}
	tree = c.tree(s, remember(model.WithTypeAndObjectMeta(s)), model.SchemaDeclType(s, true))
	return tree, c.ok
}

type ruleCompiler struct{ ok bool }

// tree returns nil where neither a place nor what is under it has rules.
func (c *ruleCompiler) tree(s *structural_schema.Structural, known *knownSchema, declared *apiserver_cel.DeclType) *ruleTree {
	if s.XEmbeddedResource || s.ValueValidation != nil && len(s.ValueValidation.AllOf) > 0 {
		c.ok = false
	}
	t := &ruleTree{schema: known, rules: c.programs(s, declared), properties: map[string]*ruleTree{}}
	if s.Items != nil {
		t.items = c.tree(s.Items, known.items, elementOf(declared))
	}
	if more := s.AdditionalProperties; more != nil && more.Structural != nil {
		t.values = c.tree(more.Structural, known.values, elementOf(declared))
	}
	for name, property := range s.Properties {
		field, typed := fieldOf(declared, name, &property)
		if !typed {
			continue // rules cannot see it, and it has none
		}
		if inner := c.tree(&property, known.fields[name], field); inner != nil {
			t.properties[name] = inner
		}
	}
	if len(t.rules) == 0 && t.items == nil && t.values == nil && len(t.properties) == 0 {
		return nil
	}
	return t
}

// programs compiles the rules of one place.
func (c *ruleCompiler) programs(s *structural_schema.Structural, declared *apiserver_cel.DeclType) (out []cel_go.Program) {
	compiled, err := cel.Compile(s, declared, cel_limits.PerCallLimit,
		environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.StoredExpressionsEnvLoader())
	if err != nil {
		c.ok = false
	}
	for _, rule := range compiled {
		if rule.Error != nil || rule.Program == nil || rule.UsesOldSelf {
			c.ok = false
			continue
		}
		out = append(out, rule.Program)
	}
	return out
}

func elementOf(declared *apiserver_cel.DeclType) *apiserver_cel.DeclType {
	if declared == nil {
		return nil
	}
	return declared.ElemType
}

// fieldOf returns the type of a field; false if it has none.
func fieldOf(declared *apiserver_cel.DeclType, name string, s *structural_schema.Structural) (*apiserver_cel.DeclType, bool) {
	escaped, can := apiserver_cel.Escape(name)
	if !can {
		field := model.SchemaDeclType(s, s.XEmbeddedResource)
		return field, field != nil
	}
	if declared == nil {
		return nil, false
	}
	field, ok := declared.Fields[escaped]
	if !ok {
		return nil, false
	}
	return field.Type, true
}
