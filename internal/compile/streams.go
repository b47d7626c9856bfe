package compile

import (
	"cmp"
	"slices"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// streamFeatures are the features of Gateway API that this file compiles.
var streamFeatures = featureNames{
	features.SupportTCPRoute,
	features.SupportTLSRoute,
	features.SupportTLSRouteModeMixed,
	features.SupportTLSRouteModeTerminate,
	features.SupportUDPRoute,
}

// streamRule is what a TCPRoute or TLSRoute does with connections, or a UDPRoute with
// datagrams, which this package calls a stream of one client likewise.
type streamRule struct {
	Created int64
	rule
	Forward *model.Forward // nil closes or drops them
	// Through is what is done where TLS of clients goes through to the backend.
	Through *streamRule
	// Extra is set when the route has rules beyond the first, which are dropped.
	Extra *problem
}

// readTCP reads a TCPRoute.
func (b *build) readTCP(c *derive.Ctx, _ string, route *gateway_v1.TCPRoute) (streamRule, bool) {
	refs := backendsByRule(route.Spec.Rules, func(r gateway_v1.TCPRouteRule) []gateway_v1.BackendRef { return r.BackendRefs })
	return b.readStream(c, referrer{Kind: kindTCPRoute, Namespace: route.Namespace}, route.CreationTimestamp.Unix(), refs), true
}

// readTLS reads a TLSRoute.
func (b *build) readTLS(c *derive.Ctx, _ string, route *gateway_v1.TLSRoute) (streamRule, bool) {
	refs := backendsByRule(route.Spec.Rules, func(r gateway_v1.TLSRouteRule) []gateway_v1.BackendRef { return r.BackendRefs })
	from := referrer{Kind: kindTLSRoute, Namespace: route.Namespace}
	out := b.readStream(c, from, route.CreationTimestamp.Unix(), refs)
	from.Through = true
	out.Through = new(b.readStream(c, from, out.Created, refs))
	return out, true
}

// readUDP reads a UDPRoute.
func (b *build) readUDP(c *derive.Ctx, _ string, route *gateway_v1.UDPRoute) (streamRule, bool) {
	refs := backendsByRule(route.Spec.Rules, func(r gateway_v1.UDPRouteRule) []gateway_v1.BackendRef { return r.BackendRefs })
	return b.readStream(c, referrer{Kind: kindUDPRoute, Namespace: route.Namespace}, route.CreationTimestamp.Unix(), refs), true
}

// backendsByRule are the backendRefs of each rule.
func backendsByRule[R any](rules []R, of func(R) []gateway_v1.BackendRef) [][]gateway_v1.BackendRef {
	refs := make([][]gateway_v1.BackendRef, len(rules))
	for i, r := range rules {
		refs[i] = of(r)
	}
	return refs
}

// readStream reads the backends of each rule of a route of connections.
func (b *build) readStream(c *derive.Ctx, from referrer, created int64, rules [][]gateway_v1.BackendRef) streamRule {
	out := streamRule{Created: created, Label: "spec.rules[0]"}
	if len(rules) == 0 {
		return out
	}
	out.Forward = b.forward(c, from, "spec.rules[0].backendRefs", plainBackends(rules[0]), nil, &out.rule)
	out.Uses, out.Clusters = distinct(out.Uses), distinctUpstreams(out.Clusters)
	if len(rules) > 1 {
		out.Extra = problemf(verdict.UnsupportedValue, "spec.rules[1]", "a %s has one rule here: nothing tells what another one would be for", from.Kind)
	}
	return out
}

// at is what is done at a listener, by whether TLS goes through there.
func (r streamRule) at(through bool) streamRule {
	if through && r.Through != nil {
		return *r.Through
	}
	return r
}

// stream is the route that has a TCP or UDP listener, or one server name of a TLS
// listener: by the host name that the route has, then the oldest.
type stream struct {
	Gateway  model.GatewayID
	Domain   string // of TLS
	Route    string // "Kind namespace/name"
	Forward  *model.Forward
	Clusters []upstream
	Uses     []string
	// Serves tells that the listener holds its port.
	Serves bool
}

// streamPlace is one TCP or UDP listener, or one server name of a TLS listener, that a
// route of connections asks for.
type streamPlace struct {
	Gateway   model.GatewayID
	Section   string // "gateway|listener"
	Meeting   meeting
	Route     string // "Kind namespace/name"
	Selection string
	Through   bool // TLS goes through
}

// key is the bucket of a place: "gateway|listener|domain", the domain empty but for TLS.
func (p streamPlace) key() string { return derive.JoinKey(p.Section, p.Meeting.Domain) }

func streamPlaces(_ *derive.Ctx, route string, a attachment) []derive.Item[streamPlace] {
	best := map[string]streamPlace{}
	for _, p := range a.Parents {
		for _, j := range p.Joints {
			meetings := j.Meetings
			if !j.named() {
				meetings = []meeting{{}}
			}
			for _, m := range meetings {
				at := streamPlace{j.Gateway, j.key(), m, route, j.Selection, j.Passthrough}
				if other, taken := best[at.key()]; !taken || compareHosts(m.Host, other.Meeting.Host) < 0 {
					best[at.key()] = at
				}
			}
		}
	}
	var items []derive.Item[streamPlace]
	for key, at := range sortedMap(best) {
		items = append(items, derive.Item[streamPlace]{Key: key, Value: at})
	}
	return items
}

// stream decides which route has a listener, or a server name of one.
func (b *build) stream(c *derive.Ctx, key string) (stream, bool) {
	var guests []streamPlace
	rules := map[string]streamRule{}
	for _, item := range derive.All(c, b.streamPlacesByKey, key) {
		guests = append(guests, item.Value)
		rules[item.Value.Route], _ = derive.Get(c, b.streamRules, item.Value.Route)
	}
	winner := slices.MinFunc(guests, func(x, y streamPlace) int {
		return cmp.Or(
			compareHosts(x.Meeting.Host, y.Meeting.Host),
			cmp.Compare(rules[x.Route].Created, rules[y.Route].Created),
			strings.Compare(routeRef(x.Route).Name, routeRef(y.Route).Name), strings.Compare(x.Route, y.Route))
	})
	won := rules[winner.Route].at(winner.Through)
	out := stream{
		Gateway: winner.Gateway, Domain: winner.Meeting.Domain, Route: winner.Route,
		Forward: won.Forward, Clusters: won.Clusters, Uses: won.Uses,
		Serves: derive.Exists(c, b.listenersBySection, winner.Section),
	}
	if winner.Selection != "" {
		out.Uses = distinct(append(slices.Clone(out.Uses), winner.Selection))
	}
	return out, true
}

// where says what of a listener a stream is, in messages.
func (p streamPlace) where(at section) string {
	if p.Meeting.Domain == "" {
		return at.title()
	}
	return p.Meeting.Domain + " at " + at.title()
}
