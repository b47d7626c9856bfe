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

// tcpFeatures are the features of Gateway API that this file compiles.
var tcpFeatures = featureNames{
	features.SupportTCPRoute,
}

// streamRule is what a TCPRoute does with connections.
type streamRule struct {
	Created int64
	rule
	Forward *model.Forward // nil closes them
	// Extra is set when the route has rules beyond the first, which are dropped.
	Extra *problem
}

// readStream reads a TCPRoute.
func (b *build) readStream(c *derive.Ctx, _ string, route *gateway_v1.TCPRoute) (streamRule, bool) {
	out := streamRule{Created: route.CreationTimestamp.Unix(), Label: "spec.rules[0]"}
	if len(route.Spec.Rules) == 0 {
		return out, true
	}
	refs := plainBackends(route.Spec.Rules[0].BackendRefs)
	out.Forward = b.forward(c, referrer{kindTCPRoute, route.Namespace}, "spec.rules[0].backendRefs", refs, &out.rule)
	out.Uses, out.Clusters = distinct(out.Uses), distinctUpstreams(out.Clusters)
	if len(route.Spec.Rules) > 1 {
		out.Extra = problemf(verdict.UnsupportedValue, "spec.rules[1]", "a TCPRoute has one rule here: nothing tells which connection another one would be for")
	}
	return out, true
}

// stream is the TCPRoute that has a TCP listener: the oldest that attaches.
type stream struct {
	Gateway  model.GatewayID
	Route    string // "namespace/name"
	Forward  *model.Forward
	Clusters []upstream
	Uses     []string
	// Serves tells that the listener holds its port.
	Serves bool
}

// tcpPlace is one TCP listener that a TCPRoute asks for.
type tcpPlace struct {
	Gateway   model.GatewayID
	Section   string // "gateway|listener"
	Route     string
	Selection string
}

func tcpPlaces(_ *derive.Ctx, route string, a attachment) []derive.Item[tcpPlace] {
	var items []derive.Item[tcpPlace]
	seen := map[string]bool{}
	for _, p := range a.Parents {
		for _, j := range p.Joints {
			key := sectionKey(j.Gateway, j.Name)
			if !seen[key] {
				items = append(items, derive.Item[tcpPlace]{Key: key, Value: tcpPlace{j.Gateway, key, route, j.Selection}})
			}
			seen[key] = true
		}
	}
	return items
}

// stream decides which TCPRoute has a listener.
func (b *build) stream(c *derive.Ctx, section string) (stream, bool) {
	var guests []tcpPlace
	created := map[string]streamRule{}
	for _, item := range derive.All(c, b.tcpPlacesBySection, section) {
		guests = append(guests, item.Value)
		created[item.Value.Route], _ = derive.Get(c, b.streamRules, item.Value.Route)
	}
	winner := slices.MinFunc(guests, func(x, y tcpPlace) int {
		return cmp.Or(cmp.Compare(created[x.Route].Created, created[y.Route].Created), strings.Compare(x.Route, y.Route))
	})
	won := created[winner.Route]
	out := stream{
		Gateway: winner.Gateway, Route: winner.Route, Forward: won.Forward, Clusters: won.Clusters, Uses: won.Uses,
		Serves: derive.Exists(c, b.listenersBySection, section),
	}
	if winner.Selection != "" {
		out.Uses = distinct(append(slices.Clone(out.Uses), winner.Selection))
	}
	return out, true
}
