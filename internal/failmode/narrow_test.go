package failmode_test

import (
	"testing"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/failmode"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// fallback is what serves with everything retained that may be.
func fallback(accepted, observed any) any {
	return failmode.Modes{}.Fallback(store.Key{}, accepted, observed)
}

// met checks the law of every narrowing, with an oracle that knows what a revision
// allows: what serves allows just what both do, and is the accepted revision itself
// just when that was not narrowed; it stays as it is.
func met[T any](t *rapid.T, accepted, observed T, cases int, allows func(T, int) bool) {
	got := fallback(any(accepted), any(observed))
	narrowed := false
	for i := range cases {
		both := allows(accepted, i) && allows(observed, i)
		narrowed = narrowed || allows(accepted, i) && !both
		serves, is := got.(T)
		if has := is && got != nil && allows(serves, i); has != both {
			t.Fatalf("case %d: allowed before %v, now %v, and by what serves %v:\n%+v", i, allows(accepted, i), allows(observed, i), has, got)
		}
	}
	if same := got == any(accepted); same == narrowed {
		t.Fatalf("narrowed %v, and the accepted revision itself serves: %v", narrowed, same)
	}
	if got != nil {
		if again := fallback(got, any(observed)); again != got {
			t.Fatalf("what serves does not stay:\n%+v\n%+v", got, again)
		}
	}
}

// TestGrantsAreNarrowedExactly, by every reference there can be.
func TestGrantsAreNarrowedExactly(t *testing.T) {
	namespaces := []gateway_v1.Namespace{"a", "b", "c"}
	names := []gateway_v1.ObjectName{"x", "y", "z"}
	kinds := []gateway_v1.Kind{"Secret", "Service"}
	allows := func(g *gateway_v1.ReferenceGrant, i int) bool {
		namespace, name, kind := namespaces[i%3], names[i/3%3], kinds[i/9]
		for _, from := range g.Spec.From {
			for _, to := range g.Spec.To {
				if from.Namespace == namespace && to.Kind == kind && (to.Name == nil || *to.Name == name) {
					return true
				}
			}
		}
		return false
	}
	draw := func(t *rapid.T, what string) *gateway_v1.ReferenceGrant {
		g := &gateway_v1.ReferenceGrant{}
		for range rapid.IntRange(1, 2).Draw(t, what+" from") {
			g.Spec.From = append(g.Spec.From, gateway_v1.ReferenceGrantFrom{Kind: "Gateway", Namespace: rapid.SampledFrom(namespaces[:2]).Draw(t, "namespace")})
		}
		for range rapid.IntRange(1, 3).Draw(t, what+" to") {
			to := gateway_v1.ReferenceGrantTo{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
			if rapid.Bool().Draw(t, "one") {
				to.Name = new(rapid.SampledFrom(names[:2]).Draw(t, "name"))
			}
			g.Spec.To = append(g.Spec.To, to)
		}
		return g
	}
	rapid.Check(t, func(t *rapid.T) {
		met(t, draw(t, "accepted"), draw(t, "observed"), 18, allows)
	})
}

// place is a namespace that routes may be in; without an object no selector takes it.
type place struct {
	name   string
	object bool
	labels labels.Set
}

// places are namespaces in every state that the drawn selectors tell apart: "z" is
// what none of them names.
var places = func() []place {
	out := []place{{name: "own"}, {name: "x"}, {name: "z"}}
	for _, name := range []string{"own", "x", "z"} {
		for _, k := range []string{"", "x", "y", "z"} {
			for _, l := range []string{"", "x", "z"} {
				set := labels.Set{core_v1.LabelMetadataName: name}
				if k != "" {
					set["k"] = k
				}
				if l != "" {
					set["l"] = l
				}
				out = append(out, place{name, true, set})
			}
		}
	}
	return out
}()

func (p place) in(from *gateway_v1.FromNamespaces, selector *meta_v1.LabelSelector, standard gateway_v1.FromNamespaces) bool {
	if from == nil {
		from = &standard
	}
	switch *from {
	case gateway_v1.NamespacesFromAll:
		return true
	case gateway_v1.NamespacesFromSame:
		return p.name == "own"
	case gateway_v1.NamespacesFromSelector:
		s, err := meta_v1.LabelSelectorAsSelector(selector)
		return err == nil && p.object && s.Matches(p.labels)
	default:
		return false
	}
}

func drawScope(t *rapid.T) (*gateway_v1.FromNamespaces, *meta_v1.LabelSelector) {
	from := rapid.SampledFrom([]gateway_v1.FromNamespaces{"", "All", "Same", "Selector", "Selector", "Selector", "None"}).Draw(t, "from")
	if from == "" {
		return nil, nil
	}
	if from != gateway_v1.NamespacesFromSelector || rapid.IntRange(0, 9).Draw(t, "no selector") == 0 {
		return &from, nil
	}
	s := &meta_v1.LabelSelector{}
	for range rapid.IntRange(0, 3).Draw(t, "expressions") {
		r := meta_v1.LabelSelectorRequirement{
			Key:      rapid.SampledFrom([]string{"k", "l", core_v1.LabelMetadataName}).Draw(t, "key"),
			Operator: rapid.SampledFrom([]meta_v1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"}).Draw(t, "operator"),
		}
		if r.Operator == "In" || r.Operator == "NotIn" {
			values := []string{"x", "y"}
			if r.Key == core_v1.LabelMetadataName {
				values = []string{"own", "x"}
			}
			if r.Key == "l" {
				values = []string{"x"}
			}
			r.Values = rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, len(values), rapid.ID[string]).Draw(t, "values")
		}
		s.MatchExpressions = append(s.MatchExpressions, r)
	}
	if rapid.IntRange(0, 3).Draw(t, "label") == 0 {
		s.MatchLabels = map[string]string{"k": "x"}
	}
	return &from, s
}

func drawAllowed(t *rapid.T) *gateway_v1.AllowedRoutes {
	out := &gateway_v1.AllowedRoutes{}
	if rapid.IntRange(0, 5).Draw(t, "nothing said") == 0 {
		return nil
	}
	from, selector := drawScope(t)
	out.Namespaces = &gateway_v1.RouteNamespaces{From: from, Selector: selector}
	for range rapid.IntRange(0, 2).Draw(t, "kinds") {
		out.Kinds = append(out.Kinds, gateway_v1.RouteGroupKind{Kind: rapid.SampledFrom([]gateway_v1.Kind{"HTTPRoute", "GRPCRoute", "TCPRoute"}).Draw(t, "kind")})
	}
	return out
}

// allowsRoute tells whether a listener lets a route of a kind in from a place.
func allowsRoute(l gateway_v1.Listener, kind gateway_v1.Kind, p place) bool {
	allowed := l.AllowedRoutes
	if allowed == nil {
		return p.name == "own"
	}
	fits := len(allowed.Kinds) == 0
	for _, k := range allowed.Kinds {
		fits = fits || k.Kind == kind
	}
	if allowed.Namespaces == nil {
		return fits && p.name == "own"
	}
	return fits && p.in(allowed.Namespaces.From, allowed.Namespaces.Selector, gateway_v1.NamespacesFromSame)
}

// TestAllowedRoutesAreNarrowedExactly, by routes of each kind from each namespace.
func TestAllowedRoutesAreNarrowedExactly(t *testing.T) {
	kinds := []gateway_v1.Kind{"HTTPRoute", "GRPCRoute"}
	draw := func(t *rapid.T) *gateway_v1.ListenerSet {
		l := gateway_v1.ListenerEntry{Name: "l", Protocol: gateway_v1.HTTPProtocolType, AllowedRoutes: drawAllowed(t)}
		return &gateway_v1.ListenerSet{Namespace: "own", Spec: gateway_v1.ListenerSetSpec{Listeners: []gateway_v1.ListenerEntry{l}}}
	}
	rapid.Check(t, func(t *rapid.T) {
		met(t, draw(t), draw(t), 2*len(places), func(s *gateway_v1.ListenerSet, i int) bool {
			return allowsRoute(gateway_v1.Listener(s.Spec.Listeners[0]), kinds[i%2], places[i/2])
		})
	})
}

// TestAllowedListenersAreNarrowedExactly, by ListenerSets from each namespace, and by
// routes at a listener beside it.
func TestAllowedListenersAreNarrowedExactly(t *testing.T) {
	draw := func(t *rapid.T) *gateway_v1.Gateway {
		g := &gateway_v1.Gateway{Namespace: "own"}
		g.Spec.Listeners = []gateway_v1.Listener{{Name: "l", Protocol: gateway_v1.HTTPProtocolType, AllowedRoutes: drawAllowed(t)}}
		if rapid.IntRange(0, 5).Draw(t, "nothing said") > 0 {
			from, selector := drawScope(t)
			g.Spec.AllowedListeners = &gateway_v1.AllowedListeners{Namespaces: &gateway_v1.ListenerNamespaces{From: from, Selector: selector}}
		}
		return g
	}
	rapid.Check(t, func(t *rapid.T) {
		met(t, draw(t), draw(t), 3*len(places), func(g *gateway_v1.Gateway, i int) bool {
			if i%3 < 2 {
				return allowsRoute(g.Spec.Listeners[0], []gateway_v1.Kind{"HTTPRoute", "GRPCRoute"}[i%3], places[i/3])
			}
			n := g.Spec.AllowedListeners
			return n != nil && places[i/3].in(n.Namespaces.From, n.Namespaces.Selector, gateway_v1.NamespacesFromNone)
		})
	})
}

// Every kind retains, or gives what is observed; nothing panics whatever the modes.
func TestEveryKindHasAFallback(t *testing.T) {
	for _, kind := range snapshot.Kinds {
		for bits := range 16 {
			m := failmode.Modes{Certificates: bits&1 > 0, Authorities: bits&2 > 0, Access: bits&4 > 0, Deletions: bits&8 > 0}
			accepted, observed := any(kind.New()), any(kind.New())
			got := m.Fallback(store.Key{}, accepted, observed)
			if closed := got == nil; closed && bits == 0 && kind.Name != "ReferenceGrant" {
				t.Errorf("%s is closed without a mode that closes", kind.Name)
			}
			if m.Fallback(store.Key{}, accepted, nil) != nil && m.Deletions {
				t.Errorf("%s: its deletion is withheld", kind.Name)
			}
		}
	}
}
