package compile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

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

// rules are the rules of one HTTPRoute or GRPCRoute, wherever it attaches.
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
	// Auths is how many services every request of the rule is subject to.
	Auths    int
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

// failed tells whether the rule has a value that nothing is specified for.
func (r rule) failed() bool {
	return r.Invalid != nil && r.Invalid.Reason.Class == verdict.FailureClass
}

// RuleOf is the rule that a field of a route is in, "spec.rules[1]", or empty.
func RuleOf(field string) string {
	rest, inside := strings.CutPrefix(field, "spec.rules[")
	index, _, closed := strings.Cut(rest, "]")
	if !inside || !closed {
		return ""
	}
	return "spec.rules[" + index + "]"
}

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

// ruleWish is a rule of either kind of route as its author writes it.
type ruleWish struct {
	Name     *gateway_v1.SectionName
	Matches  []ranked // at least one
	Filters  []gateway_v1.HTTPRouteFilter
	Backends []weighted
	Bounds   limits
	Session  *session
	// Invalid is a value outside of matches and filters that no rule may have.
	Invalid *problem
}

// ranked is a match and its precedence, or why it cannot be.
type ranked struct {
	Match   model.Match
	Rank    rank
	Invalid *problem
}

// readRules reads the rules of an HTTPRoute and resolves their backends.
func (b *build) readRules(c *derive.Ctx, key string, route *gateway_v1.HTTPRoute) (rules, bool) {
	out := rules{Created: route.CreationTimestamp.Unix()}
	for i, spec := range route.Spec.Rules {
		field := indexed("spec.rules", i)
		wish := ruleWish{
			Name: spec.Name, Filters: spec.Filters, Backends: httpBackends(spec.BackendRefs),
			Session: readSession(field+".sessionPersistence", httpIdent+key, spec.SessionPersistence), //nolint:staticcheck // deprecated, and served all the same
		}
		wish.Bounds, wish.Invalid = readLimits(field, spec)
		if len(spec.Matches) == 0 { // everything
			spec.Matches = []gateway_v1.HTTPRouteMatch{{}}
		}
		for k, match := range spec.Matches {
			m, why := readMatch(indexed(field+".matches", k), match)
			wish.Matches = append(wish.Matches, ranked{m, rankOf(m), why})
		}
		out.Rules = append(out.Rules, b.readRule(c, referrer{Kind: kindHTTPRoute, Namespace: route.Namespace}, field, key, wish))
	}
	return out, true
}

// readRule reads one rule of a route and resolves its backends.
func (b *build) readRule(c *derive.Ctx, from referrer, field, key string, wish ruleWish) rule {
	r := rule{Label: string(orElse(wish.Name, gateway_v1.SectionName(field)))}
	filters := readFilters(field+".filters", wish.Filters)
	r.Invalid, r.Closed = first(filters.Invalid, wish.Invalid), filters.Closed
	if wish.Session != nil {
		r.Invalid = first(r.Invalid, wish.Session.Problem)
		r.Warnings = append(r.Warnings, wish.Session.Warnings...)
	}
	action := b.act(c, from, field, wish, filters, &r)
	r.enter(store.Key{Collection: from.Kind, Name: key}, wish.Matches, action)
	return r
}

// act reads what a rule does with requests.
func (b *build) act(c *derive.Ctx, from referrer, field string, wish ruleWish, filters filterSet, r *rule) model.Route {
	r.Auths = len(filters.Auth)
	r.Closed = first(r.Closed, r.tooManyAuths(field+".filters", filterSet{}))
	r.replacesPrefix(field+".filters", filters)
	out := model.Route{Filters: filters.Headers, Rewrite: filters.Rewrite}
	if filters.Redirect != nil {
		out.Redirect = filters.Redirect
	} else {
		out.Forward = b.forward(c, from, field+".backendRefs", wish.Backends, wish.Session, r)
	}
	if out.Forward != nil || out.Redirect != nil {
		out.Filters.Auth = b.ruleAuths(c, from, &filters, r)
	}
	if filters.Unresolved != nil {
		r.Unresolved = append(r.Unresolved, filters.Unresolved)
	}
	switch {
	case r.Closed != nil || filters.Unresolved != nil:
		r.Clusters, r.Uses = nil, nil
		return model.Route{Status: from.unavailable()}
	case out.Forward != nil:
		wish.Bounds.bound(out.Forward)
		out.Filters.Mirrors = b.mirrors(c, from, filters.Mirrors, r)
	case out.Redirect == nil:
		out.Status, out.Rewrite = from.unavailable(), nil
	}
	return out
}

// unavailable is the status of requests that no backend can be found for. Of 503
// proxies make the status UNAVAILABLE for gRPC, which its routes ask for.
func (f referrer) unavailable() uint32 {
	if f.Kind == kindGRPCRoute {
		return 503
	}
	return 500
}

// enter makes an entry of each match.
func (r *rule) enter(route store.Key, matches []ranked, action model.Route) {
	for _, m := range matches {
		r.Invalid = first(r.Invalid, m.Invalid, r.prefixEdit(m.Match))
		e := entry{Route: action, Rank: m.Rank, Match: digest(m.Match)}
		e.Route.Match = m.Match
		e.Route.Name = route.Name + "/" + digest(e.Route)
		e.Route.Origins = []model.Ref{route}
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
