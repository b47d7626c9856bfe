package schema

import (
	cel_go "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// ruleTree holds the CEL rules of one place of a schema and of all places under
// it. It answers one question, and fast: do all of them hold? Why one does not is
// left to the library's validator, which takes several times as long because, each
// time that a rule reads a field, it makes the schemas of all fields anew.
//
// Law: a tree says yes only where the library's validator finds nothing.
type ruleTree struct {
	schema     common.Schema
	rules      []cel_go.Program
	items      *ruleTree
	values     *ruleTree // of a mapping without fixed fields
	properties map[string]*ruleTree
}

// hold reports whether all rules hold for a value of the place. What they cost is
// taken from budget.
func (t *ruleTree) hold(value any, budget *int64) bool {
	if t == nil || value == nil {
		return true // rules are about values that are there
	}
	return t.holdHere(value, budget) && t.holdUnder(value, budget)
}

func (t *ruleTree) holdHere(value any, budget *int64) bool {
	if len(t.rules) == 0 {
		return true
	}
	at := &subject{self: common.UnstructuredToVal(value, t.schema)}
	for _, rule := range t.rules {
		result, details, err := rule.Eval(at)
		if err != nil || result != types.True {
			return false
		}
		cost := details.ActualCost()
		if cost == nil || *cost > uint64(*budget) {
			return false
		}
		*budget -= int64(*cost)
	}
	return true
}

func (t *ruleTree) holdUnder(value any, budget *int64) bool {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if !t.items.hold(item, budget) {
				return false
			}
		}
	case map[string]any:
		for key, inner := range value {
			if !t.values.hold(inner, budget) || !t.properties[key].hold(inner, budget) {
				return false
			}
		}
	}
	return true
}

// subject is what a rule can name: the value that it is about.
type subject struct{ self ref.Val }

func (s *subject) ResolveName(name string) (any, bool) { return s.self, name == cel.ScopedVarName }

func (s *subject) Parent() interpreter.Activation { return nil }
