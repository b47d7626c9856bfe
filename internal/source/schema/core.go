package schema

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

// coreRules are what is checked of a kind that Kubernetes itself defines, beyond
// the types of its fields. docs/reference/core-kinds.md lists them.
type coreRules struct {
	// name says whether an object's name is allowed; nil means a DNS subdomain.
	name validation.ValidateNameFunc
	// fill sets the defaults in the plain object.
	fill func(object map[string]any)
	// check validates the object by itself.
	check func(snapshot.Object) field.ErrorList
	// change validates the object next to its previous accepted revision.
	change func(before, after snapshot.Object) field.ErrorList
}

var coreKinds = map[string]coreRules{
	"ClusterTrustBundle": {name: trustBundleName, check: on(checkTrustBundle)},
	"ConfigMap":          {check: on(checkConfigMap), change: between(changeConfigMap)},
	"EndpointSlice":      {fill: fillEndpointSlice, check: on(checkEndpointSlice), change: between(changeEndpointSlice)},
	"Namespace":          {name: validation.ValidateNamespaceName, fill: fillNamespace},
	"Secret":             {fill: fillSecret, check: on(checkSecret), change: between(changeSecret)},
	"Service":            {name: validation.NameIsDNSLabel, fill: fillService, check: on(checkService)},
}

// on adapts a check of one Go type; T is what the kind's New returns.
func on[T snapshot.Object](check func(T) field.ErrorList) func(snapshot.Object) field.ErrorList {
	return func(o snapshot.Object) field.ErrorList { return check(o.(T)) }
}

func between[T snapshot.Object](change func(before, after T) field.ErrorList) func(a, b snapshot.Object) field.ErrorList {
	return func(before, after snapshot.Object) field.ErrorList { return change(before.(T), after.(T)) }
}

// decodeCore validates an object of a kind that Kubernetes itself defines.
func (d *draft) decodeCore(rules coreRules) (snapshot.Object, []Problem) {
	if found := d.checkCoreTypes(); len(found) > 0 {
		return nil, found
	}
	d.object = d.plain()
	dropNulls(d.object)
	if rules.fill != nil {
		rules.fill(d.object)
	}
	value, err := d.value()
	if err != nil {
		return nil, d.internal(err)
	}
	var found []Problem
	if rules.check != nil {
		found = problems(d.root, d.kind.Name, InvalidValue, rules.check(value))
	}
	if before := d.previous(d.key); before != nil && rules.change != nil {
		changes := problems(d.root, d.kind.Name, ImmutableField, rules.change(before, value))
		for i := range changes {
			changes[i].Message = replaceRemedy(changes[i].Message)
		}
		found = append(found, changes...)
	}
	return value, found
}

// checkCoreTypes compares everything but the status with the kind's Go type.
func (d *draft) checkCoreTypes() []Problem {
	root := *d.root
	root.fields = nil
	for _, f := range d.root.fields {
		if f.key != "status" && f.key != "metadata" {
			root.fields = append(root.fields, f)
		}
	}
	return checkType(&root, reflect.TypeOf(d.kind.New()), "", d.kind.Name)
}

// dropNulls removes keys without a value, so that null and absent are the same.
func dropNulls(x any) {
	switch x := x.(type) {
	case map[string]any:
		for k, v := range x {
			if v == nil {
				delete(x, k)
			}
			dropNulls(v)
		}
	case []any:
		for _, v := range x {
			dropNulls(v)
		}
	}
}

// setDefault sets a key that is absent.
func setDefault(m map[string]any, key string, value any) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}

// mapAt returns the mapping under a key, making it if it is absent.
func mapAt(m map[string]any, key string) map[string]any {
	inner, ok := m[key].(map[string]any)
	if !ok {
		inner = map[string]any{}
		m[key] = inner
	}
	return inner
}

// mapsAt returns the mappings in the list under a key.
func mapsAt(m map[string]any, key string) []map[string]any {
	list, _ := m[key].([]any)
	out := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if inner, ok := item.(map[string]any); ok {
			out = append(out, inner)
		}
	}
	return out
}

func fillNamespace(object map[string]any) {
	meta := mapAt(object, "metadata")
	mapAt(meta, "labels")["kubernetes.io/metadata.name"] = meta["name"]
}
