package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/compile"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// partlyInvalid is a route whose second rule has an expression that RE2 refuses.
func partlyInvalid(name string) *gateway_v1.HTTPRoute {
	r := route(name, "cart")
	r.Spec.Rules = append(r.Spec.Rules, invalid(name).Spec.Rules...)
	return r
}

// conditions are those of an HTTPRoute at its first parent, as "Type=Status/generation".
func (w world) conditions(name string) (all []string, messages string) {
	w.Helper()
	var o gateway_v1.HTTPRoute
	for _, body := range w.loop.Reporter().Objects("HTTPRoute", name) {
		if err := json.Unmarshal(body, &o); err != nil {
			w.Fatal(err)
		}
	}
	for _, c := range o.Status.Parents[0].Conditions {
		all = append(all, fmt.Sprintf("%s=%s/%d", c.Type, c.Status, c.ObservedGeneration))
		messages += c.Type + ": " + c.Message + "\n"
	}
	return all, messages
}

// TestPartlyInvalidRouteFallsBack: "A partly invalid route that falls back has
// Accepted=True with the retained generation as observedGeneration and
// PartiallyInvalid=True"; repair releases it.
func TestPartlyInvalidRouteFallsBack(t *testing.T) {
	inWorld(t, func(w world) {
		w.change(edit("HTTPRoute", second(partlyInvalid("shop"))))

		got, messages := w.conditions("shop/shop")
		if want := []string{"Accepted=True/1", "ResolvedRefs=True/1", "PartiallyInvalid=True/2"}; !slices.Equal(got, want) ||
			!strings.Contains(messages, "PartiallyInvalid: Fall Back: generation 1 keeps serving, for spec.rules[1]") {
			w.Errorf("%v, want %v\n%s", got, want, messages)
		}
		if state := w.why("HTTPRoute", "shop/shop").State; state != verdict.Rejected {
			w.Errorf("state %s, want Rejected", state)
		}

		repaired := route("shop", "cart")
		repaired.Generation = 3
		w.change(edit("HTTPRoute", repaired))
		if got, _ := w.conditions("shop/shop"); !slices.Equal(got, []string{"Accepted=True/3", "ResolvedRefs=True/3"}) {
			w.Errorf("after the repair %v", got)
		}
	})
}

// TestPartlyInvalidRouteWithoutEarlierRevisionDropsRules: there is nothing to fall back
// to, and an edit of such a route is no change for the worse.
func TestPartlyInvalidRouteWithoutEarlierRevisionDropsRules(t *testing.T) {
	inWorld(t, func(w world) {
		for generation := range int64(2) {
			r := partlyInvalid("new")
			r.Generation = generation + 1
			w.change(edit("HTTPRoute", r))

			got, messages := w.conditions("shop/new")
			want := []string{"Accepted=True", "ResolvedRefs=True", "PartiallyInvalid=True"}
			for i := range want {
				want[i] += fmt.Sprintf("/%d", r.Generation)
			}
			if !slices.Equal(got, want) || !strings.Contains(messages, "PartiallyInvalid: Dropped Rule") {
				w.Errorf("%v, want %v\n%s", got, want, messages)
			}
		}
	})
}

// TestWhollyInvalidRouteIsNotAccepted: "a wholly invalid one has Accepted=False at the
// new generation, and the message says whether a previous revision still serves".
func TestWhollyInvalidRouteIsNotAccepted(t *testing.T) {
	inWorld(t, func(w world) {
		w.change(edit("HTTPRoute", second(invalid("shop"))), edit("HTTPRoute", invalid("new")))

		for name, serves := range map[string]string{"shop/shop": "; generation 1 keeps serving", "shop/new": "; nothing of it serves"} {
			got, messages := w.conditions(name)
			if len(got) != 2 || !strings.HasPrefix(got[0], "Accepted=False/") || !strings.Contains(messages, serves) {
				w.Errorf("%s: %v\n%s", name, got, messages)
			}
		}
		if got, _ := w.conditions("shop/shop"); got[0] != "Accepted=False/2" {
			w.Errorf("%v, want the new generation", got)
		}
	})
}

// TestPartlyIsByRule: a refusal makes a route partly invalid if it names some of its rules
// and not all; one that names none is about the route as a whole.
func TestPartlyIsByRule(t *testing.T) {
	for name, test := range map[string]struct {
		fields  []string
		finding compile.Finding
		want    bool
	}{
		"one of two":            {[]string{"spec.rules[1].filters[0]"}, compile.Finding{Rules: 2}, true},
		"both":                  {[]string{"spec.rules[1].filters[0]", "spec.rules[0]"}, compile.Finding{Rules: 2}, false},
		"the only one":          {[]string{"spec.rules[0]"}, compile.Finding{Rules: 1}, false},
		"one, the other closed": {[]string{"spec.rules[1]"}, compile.Finding{Rules: 2, Dropped: []string{"spec.rules[0]"}}, false},
		"none named":            {[]string{""}, compile.Finding{Rules: 2}, false},
		"not a rule":            {[]string{"spec.hostnames[0]"}, compile.Finding{Rules: 2}, false},
		"no route":              {[]string{"spec.listeners[0]"}, compile.Finding{}, false},
	} {
		var why []verdict.Step
		for _, field := range test.fields {
			why = append(why, verdict.RefusedByValidator.Step(verdict.Accept, verdict.WasRejected, "no").At(field))
		}
		if got := partly(why, test.finding); got != test.want {
			t.Errorf("%s: partly %v", name, got)
		}
	}
}
