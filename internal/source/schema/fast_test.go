package schema

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	cel_limits "k8s.io/apiserver/pkg/apis/cel"

	"github.com/gatehouse-proxy/gatehouse/config/crd"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

// verdicts count what the two ways to judge an object say.
type verdicts struct{ good, bad, fits, holds, broken int }

// What form and ruleTree take for right, the library's validators do too; and they
// take for right nearly all that is. Objects are the Gateway API's examples, each
// changed in many places.
func TestFastJudgesAgreeWithTheLibrary(t *testing.T) {
	v := New(Options{Open: allOpen})
	random := rand.New(rand.NewPCG(1, 2))
	var seen verdicts
	files := exampleFiles(t)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		for _, doc := range Split(files[path]) {
			root, err := parse(doc)
			if err != nil {
				t.Fatal(path, err)
			}
			group, version := splitVersion(root.text("apiVersion"))
			kind, known := kindSet(snapshot.Kinds).find(group, root.text("kind"))
			if !known {
				continue
			}
			def, err := v.defs.get(kind, version, crd.Experimental)
			if err != nil {
				t.Fatal(err)
			}
			for range 15 {
				if def != nil {
					compareJudges(t, def, changed(random, root.plain().(map[string]any)), &seen)
				}
			}
		}
	}
	t.Logf("%+v", seen)
	if seen.fits*10 < seen.good*9 || seen.bad < 200 || seen.broken < 30 || seen.holds < 500 {
		t.Errorf("the objects are too one-sided, or the fast way is hardly taken: %+v", seen)
	}
}

func compareJudges(t *testing.T, def *definition, object map[string]any, seen *verdicts) {
	t.Helper()
	delete(object, "status")
	pruning.Prune(object, def.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, def.structural)
	defaulting.Default(object, def.structural)
	errs := validation.ValidateCustomResource(nil, object, def.openapi)
	fits := def.form.fits(object)
	switch {
	case len(errs) > 0 && fits:
		t.Errorf("the form takes %v, of which the library says %v", object, errs)
	case len(errs) > 0:
		seen.bad++
		return
	case fits:
		seen.fits++
	}
	seen.good++
	if len(listtype.ValidateListSetsAndMaps(nil, def.structural, object)) > 0 {
		return
	}
	errs, _ = def.library().Validate(t.Context(), nil, def.structural, object, nil, cel_limits.RuntimeCELCostBudget)
	switch holds := def.allHold(object); {
	case holds && len(errs) > 0, !holds && len(errs) == 0 && def.simple:
		t.Errorf("rules hold: %t for %v, of which the library says %v", holds, object, errs)
	case holds:
		seen.holds++
	default:
		seen.broken++
	}
}

// changed returns an object that differs in up to three places.
func changed(random *rand.Rand, object map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(object)
	for range random.IntN(4) {
		if spec, ok := out["spec"].(map[string]any); ok {
			changeIn(random, spec)
		}
	}
	return out
}

// changeIn changes one place under a mapping.
func changeIn(random *rand.Rand, m map[string]any) {
	keys := slices.Sorted(maps.Keys(m))
	if len(keys) == 0 {
		return
	}
	key := keys[random.IntN(len(keys))]
	inner := m[key]
	list, isList := inner.([]any)
	if isList && len(list) > 0 && random.IntN(4) > 0 {
		inner = list[random.IntN(len(list))]
	}
	if under, ok := inner.(map[string]any); ok && random.IntN(8) > 0 {
		changeIn(random, under)
		return
	}
	switch {
	case isList && random.IntN(3) > 0:
		m[key] = slices.Repeat(list, random.IntN(20))
	case random.IntN(3) == 0:
		delete(m, key)
	default:
		m[key] = oddValues[random.IntN(len(oddValues))]
	}
}

var oddValues = []any{
	nil, true, "", "a", "A_b", "10s", "/a", "*", "Exact", "RegularExpression", "ReplacePrefixMatch", strings.Repeat("x", 300), "é",
	int64(-1), int64(0), int64(1), int64(80), int64(599), int64(70000), int64(1) << 60, 1.5,
	[]any{},
	[]any{"a", "a"},
	map[string]any{},
	map[string]any{"name": "a"},
	map[string]any{"type": "Exact", "value": "/a"},
}

// The kinds that come by the thousand are judged the fast way.
func TestEveryRouteIsJudgedFast(t *testing.T) {
	v := New(Options{Open: allOpen})
	for _, kind := range snapshot.Kinds {
		def, err := v.defs.get(kind, kind.Versions[0], crd.Experimental)
		if err != nil {
			t.Fatal(err)
		}
		if def != nil && !def.simple && !def.transitions {
			t.Errorf("only the library can judge the rules of %s", kind.Name)
		}
		if strings.HasSuffix(kind.Name, "Route") && !def.simple {
			t.Errorf("only the library can judge a %s", kind.Name)
		}
	}
}
