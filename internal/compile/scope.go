package compile

import (
	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// scope is the namespaces that a listener takes routes from, or a Gateway ListenerSets.
// Exactly one field is set; the zero scope takes none.
type scope struct {
	All       bool
	Namespace string
	Selector  *string // canonical text
}

// readScope reads allowedRoutes.namespaces of a listener in a namespace.
func readScope(field string, spec *gateway_v1.RouteNamespaces, namespace string) (scope, *problem) {
	if spec == nil {
		return scope{Namespace: namespace}, nil
	}
	switch from := orElse(spec.From, gateway_v1.NamespacesFromSame); from {
	case gateway_v1.NamespacesFromAll:
		return scope{All: true}, nil
	case gateway_v1.NamespacesFromSame:
		return scope{Namespace: namespace}, nil
	case gateway_v1.NamespacesFromSelector:
		selector, err := meta_v1.LabelSelectorAsSelector(spec.Selector)
		switch {
		case err != nil:
			return scope{}, problemf(verdict.UnsupportedValue, field+".selector", "%v", err)
		case spec.Selector == nil:
			return scope{}, problemf(verdict.UnsupportedValue, field+".selector", "must be set with from: Selector")
		}
		return scope{Selector: new(selector.String())}, nil
	default:
		return scope{}, problemf(verdict.UnsupportedValue, field+".from", "%q: must be All, Same or Selector", from)
	}
}

// idleSelector says of a selector that from does not ask for, which may have been
// meant to keep others out.
func idleSelector(field string, from gateway_v1.FromNamespaces, selector *meta_v1.LabelSelector) []*problem {
	if selector == nil || from == gateway_v1.NamespacesFromSelector {
		return nil
	}
	return []*problem{problemf(verdict.NoEffect, field+".selector", "selects nothing with from: %s: use from: Selector", from)}
}

// selectors are the distinct selectors of a Gateway and its own listeners.
func selectors(_ *derive.Ctx, _ string, g gateway) []derive.Item[string] {
	if !g.claims() {
		return nil
	}
	return selectorItems(g.Listeners, g.Allowed)
}

// setSelectors are those of the listeners of a ListenerSet.
func setSelectors(_ *derive.Ctx, _ string, set listenerSet) []derive.Item[string] {
	return selectorItems(set.Listeners)
}

func selectorItems(all []listener, scopes ...scope) []derive.Item[string] {
	for _, l := range all {
		scopes = append(scopes, l.Scope)
	}
	var texts []string
	for _, s := range scopes {
		if s.Selector != nil {
			texts = append(texts, *s.Selector)
		}
	}
	var items []derive.Item[string]
	for _, text := range distinct(texts) {
		items = append(items, derive.Item[string]{Key: text, Value: text})
	}
	return items
}

// selections are the selectors that select a namespace: an item for each, so that
// a changed label re-runs only what flips.
func (b *build) selections(c *derive.Ctx, name string, object *core_v1.Namespace) []derive.Item[struct{}] {
	set := labels.Merge(object.Labels, labels.Set{core_v1.LabelMetadataName: name})
	var items []derive.Item[struct{}]
	for _, selector := range derive.Prefix(c, b.selectors, "") {
		parsed, err := labels.Parse(selector.Key)
		if err == nil && parsed.Matches(set) {
			items = append(items, derive.Item[struct{}]{Key: selector.Key})
		}
	}
	return items
}

// takes reports whether the scope takes objects from a namespace, and by which
// selection. A namespace without a Namespace object is selected by no selector.
func (b *build) takes(c *derive.Ctx, s scope, namespace string) (yes bool, selection string) {
	switch {
	case s.Selector != nil:
		selection = derive.JoinKey(namespace, *s.Selector)
		return derive.Has(c, b.selected, selection), selection
	default:
		return s.All || s.Namespace == namespace, ""
	}
}
