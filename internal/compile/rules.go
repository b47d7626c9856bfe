package compile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// ruleFeatures are the features of Gateway API that this file compiles.
var ruleFeatures = featureNames{
	features.SupportHTTPRoute,
	features.SupportHTTPRouteNamedRouteRule,
}

// rules are the rules of one HTTPRoute, wherever it attaches.
type rules struct {
	Created int64 // in seconds since 1970
	Rules   []rule
}

// rule is one rule. It is placed on hosts unless it is Invalid.
type rule struct {
	Label   string // its name, or its place in the spec
	Entries []entry
	// Invalid is why the rule is dropped.
	Invalid *problem
	// Closed is why the rule answers 500 although it could be dropped: it has a
	// filter that must not be skipped.
	Closed *problem
	// Dark tells that no backend can be used: every request answers 500.
	Dark bool
	// Unresolved are references of the rule that lead nowhere.
	Unresolved []*problem
	Warnings   []*problem
	// Prefixed are the filters that replace the prefix that a match has.
	Prefixed string
	Clusters []upstream
	Uses     []string // objects by "Kind ns/name", and permissions
}

// entry is one match of a rule, with what is done with a request.
type entry struct {
	Route model.Route
	Rank  rank
	Match string // equal for equal matches
}

// implemented tells whether the rule does what it asks for.
func (r rule) implemented() bool { return r.Invalid == nil && r.Closed == nil }

// fault is why the rule is not implemented.
func (r rule) fault() *problem { return first(r.Invalid, r.Closed) }

// accepted tells whether some rule is implemented; a route without rules has
// nothing that is not.
func (r rules) accepted() bool {
	for _, rule := range r.Rules {
		if rule.implemented() {
			return true
		}
	}
	return len(r.Rules) == 0
}

// readRules reads the rules of an HTTPRoute and resolves their backends.
func (b *build) readRules(c *derive.Ctx, key string, route *gateway_v1.HTTPRoute) (rules, bool) {
	out := rules{Created: route.CreationTimestamp.Unix()}
	for i, spec := range route.Spec.Rules {
		field := indexed("spec.rules", i)
		r := rule{Label: field}
		if spec.Name != nil {
			r.Label = string(*spec.Name)
		}
		filters := readFilters(field+".filters", spec.Filters)
		r.Invalid, r.Closed = filters.Invalid, filters.Closed
		action := b.act(c, field, referrer{kindHTTPRoute, route.Namespace}, spec, filters, &r)
		r.enter(field, key, spec.Matches, action)
		out.Rules = append(out.Rules, r)
	}
	return out, true
}

// act reads what a rule does with requests.
func (b *build) act(c *derive.Ctx, field string, from referrer, spec gateway_v1.HTTPRouteRule, filters filterSet, r *rule) model.Route {
	if filters.Unresolved != nil {
		r.Unresolved = append(r.Unresolved, filters.Unresolved)
	}
	bounds, why := readLimits(field, spec)
	r.Invalid = first(r.Invalid, why)
	r.warn(field, spec)
	r.replacesPrefix(field+".filters", filters)
	out := model.Route{Filters: filters.Headers, Rewrite: filters.Rewrite}
	if filters.Redirect != nil {
		out.Redirect = filters.Redirect
	} else {
		out.Forward = b.forward(c, from, field+".backendRefs", httpBackends(spec.BackendRefs), r)
	}
	switch {
	case r.Closed != nil || filters.Unresolved != nil:
		r.Clusters, r.Uses = nil, nil
		return model.Route{Status: 500}
	case out.Forward != nil:
		bounds.bound(out.Forward)
		out.Filters.Mirrors = b.mirrors(c, from, filters.Mirrors, r)
	case out.Redirect == nil:
		out.Status, out.Rewrite = 500, nil
	}
	return out
}

// warn notes the fields of a rule that have no effect yet and may be skipped.
func (r *rule) warn(field string, spec gateway_v1.HTTPRouteRule) {
	if spec.SessionPersistence != nil { //nolint:staticcheck // deprecated, and must be seen all the same
		r.Warnings = append(r.Warnings, problemf(verdict.NotYetSupported, field+".sessionPersistence", "sessions do not stay with one endpoint yet"))
	}
}

// enter makes an entry of each match; no matches match everything.
func (r *rule) enter(field, key string, matches []gateway_v1.HTTPRouteMatch, action model.Route) {
	if len(matches) == 0 {
		matches = []gateway_v1.HTTPRouteMatch{{}}
	}
	for i, spec := range matches {
		match, why := readMatch(indexed(field+".matches", i), spec)
		r.Invalid = first(r.Invalid, why, r.prefixEdit(match))
		e := entry{Route: action, Rank: rankOf(match), Match: digest(match)}
		e.Route.Match = match
		e.Route.Name = key + "/" + digest(e.Route)
		e.Route.Origins = []model.Ref{{Collection: kindHTTPRoute, Name: key}}
		r.Entries = append(r.Entries, e)
	}
	if r.Invalid != nil {
		r.Entries, r.Clusters, r.Uses = nil, nil, nil
	}
}

// replacesPrefix notes filters that replace a matched prefix.
func (r *rule) replacesPrefix(field string, f filterSet) {
	if f.Rewrite != nil && f.Rewrite.Path != nil && f.Rewrite.Path.Prefix ||
		f.Redirect != nil && f.Redirect.Path != nil && f.Redirect.Path.Prefix {
		r.Prefixed = cmp.Or(r.Prefixed, field)
	}
}

// prefixEdit refuses to replace a prefix where none is matched.
func (r *rule) prefixEdit(match model.Match) *problem {
	if r.Prefixed != "" && match.Path.Kind != model.PathPrefix {
		return problemf(verdict.IncompatibleFilters, r.Prefixed, "ReplacePrefixMatch needs a match of type PathPrefix, not %s", match.Path.Kind)
	}
	return nil
}

// digest is a short name of content: equal content has an equal one.
func digest(content any) string {
	text, err := json.Marshal(content)
	if err != nil {
		panic(fmt.Sprintf("a model value cannot be encoded: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

func httpRouteRef(key string) store.Key { return store.Key{Collection: kindHTTPRoute, Name: key} }
