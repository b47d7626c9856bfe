package schema

import (
	"context"
	"fmt"
	"slices"

	structural_schema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	cel_limits "k8s.io/apiserver/pkg/apis/cel"

	"github.com/gatehouse-proxy/gatehouse/config/crd"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// decodeCustom validates an object whose kind has a custom resource definition.
func (v *Validator) decodeCustom(d *draft) (snapshot.Object, []Problem) {
	channel := crd.Experimental
	if d.kind.Feature == "" && !v.open(snapshot.FeatureExperimental) {
		channel = crd.Standard
	}
	def, err := v.defs.get(d.kind, d.version, channel)
	switch {
	case err != nil:
		return nil, d.internal(err)
	case def == nil:
		return nil, []Problem{{Reason: verdict.FeatureDisabled, Field: "apiVersion", Line: d.root.lineOf("apiVersion"), Message: fmt.Sprintf(
			"%q: only the experimental channel serves this version; write %s, or %s",
			d.root.text("apiVersion"), apiVersion(d.kind, d.kind.Versions[0]), snapshot.FeatureExperimental.Remedy())}}
	}
	found := def.check(d)
	if len(found) > 0 && channel == crd.Standard {
		found = v.explainChannel(d, found)
	}
	if len(found) > 0 {
		return nil, found
	}
	value, err := d.value()
	if err != nil {
		return nil, d.internal(err)
	}
	return value, nil
}

func (d *draft) internal(err error) []Problem {
	return []Problem{{Reason: InvalidValue, Line: d.root.line, Message: oneLine(err.Error()) + "; please report this as a bug"}}
}

// check validates the draft as an API server would on create or update: unknown
// fields, defaults, types and ranges, lists that are sets or maps, CEL rules.
func (def *definition) check(d *draft) []Problem {
	object := d.plain()
	object["apiVersion"] = apiVersion(d.kind, d.version) // a rule may read it
	unknown := pruning.PruneWithOptions(object, def.structural, true, structural_schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	var found []Problem
	for _, path := range unknown {
		found = append(found, unknownField(d.root, path, siblings(def.structural, path)))
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, def.structural)
	defaulting.Default(object, def.structural)
	var errs field.ErrorList
	if !def.form.fits(object) {
		errs = validation.ValidateCustomResource(nil, object, def.openapi)
	}
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, def.structural, object)...)
	found = append(found, problems(d.root, d.kind.Name, InvalidValue, errs)...)
	if len(found) == 0 && !def.allHold(object) {
		found = def.checkRules(d, object)
	}
	object["apiVersion"] = apiVersion(d.kind, d.kind.Versions[0])
	delete(object, "status") // which may have a default
	d.object = object
	return found
}

// allHold reports whether all CEL rules hold; false also where that is not known.
func (def *definition) allHold(object map[string]any) bool {
	budget := int64(cel_limits.RuntimeCELCostBudget)
	return def.simple && def.rules.hold(object, &budget)
}

// checkRules evaluates the CEL rules. What fails only next to the previous
// revision is a forbidden change.
func (def *definition) checkRules(d *draft, object map[string]any) []Problem {
	validate := func(old any) field.ErrorList {
		errs, _ := def.library().Validate(context.Background(), nil, def.structural, object, old, cel_limits.RuntimeCELCostBudget)
		return errs
	}
	if !def.transitions {
		return problems(d.root, d.kind.Name, InvalidValue, validate(nil))
	}
	old := d.old()
	if old == nil {
		return problems(d.root, d.kind.Name, InvalidValue, validate(nil))
	}
	alone := validate(nil)
	changes := slices.DeleteFunc(validate(old), func(e *field.Error) bool {
		return slices.ContainsFunc(alone, func(o *field.Error) bool { return o.Error() == e.Error() })
	})
	found := problems(d.root, d.kind.Name, ImmutableField, changes)
	for i := range found {
		found[i].Message = replaceRemedy(found[i].Message)
	}
	return append(found, problems(d.root, d.kind.Name, InvalidValue, alone)...)
}

// old returns the previous accepted revision as plain values, or nil.
func (d *draft) old() any {
	previous := d.previous(d.key)
	if previous == nil {
		return nil
	}
	old, err := runtime.DefaultUnstructuredConverter.ToUnstructured(previous)
	if err != nil {
		return nil // it was made from plain values, so it can be turned back
	}
	return old
}

// explainChannel decides whether a document that breaks the standard channel's
// schema is simply wrong, or right in the experimental channel.
func (v *Validator) explainChannel(d *draft, standard []Problem) []Problem {
	def, err := v.defs.get(d.kind, d.version, crd.Experimental)
	if def == nil || err != nil {
		return standard
	}
	experimental := def.check(d)
	out := experimental
	for _, p := range standard {
		same := func(e Problem) bool { return e.Field == p.Field }
		if len(experimental) > 0 && (p.Reason.Name != UnknownField.Name || slices.ContainsFunc(experimental, same)) {
			continue
		}
		cause := p.Message
		if p.Reason.Name == UnknownField.Name {
			cause = "this field is in the experimental channel only"
		} else {
			cause = "valid in the experimental channel only: " + cause
		}
		out = append(out, Problem{Reason: verdict.FeatureDisabled, Field: p.Field, Line: p.Line, Message: fmt.Sprintf(
			"%s; %s, or remove it", cause, snapshot.FeatureExperimental.Remedy())})
	}
	return out
}
