package envoy

import (
	"math"
	"slices"
	"strconv"

	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// noBackend is the name of the cluster that never exists: the share of a
// missing or ungranted backend. No ClusterID can equal it, as those have a slash.
const noBackend = "no-backend"

// forward sets the action of a route that goes to backends. Where the backend
// of a share does not exist, Envoy answers with the route's status for unknown
// clusters, which is 500, or 503 for gRPC, of which it makes the status
// UNAVAILABLE; other shares are not touched.
func forward(route *envoy_route_v3.Route, r model.Route, edits headerEdits) ([]xdsserve.Name, error) {
	shares, err := translateShares(r.Forward.Backends)
	if err != nil {
		return nil, err
	}
	uses := usedClusters(shares)
	if len(uses) == 0 {
		closed(route, unavailable(r.Match), r.Filters.CORS)
		edits.onRoute(route)
		return nil, nil
	}
	action := &envoy_route_v3.RouteAction{ClusterNotFoundResponseCode: envoy_route_v3.RouteAction_INTERNAL_SERVER_ERROR}
	if r.Match.GRPC {
		action.ClusterNotFoundResponseCode = envoy_route_v3.RouteAction_SERVICE_UNAVAILABLE
	}
	if err := limit(action, r.Forward); err != nil {
		return nil, err
	}
	if err := rewrite(action, r.Match.Path, r.Rewrite); err != nil {
		return nil, within("rewrite", err)
	}
	mirrored, err := mirror(action, r.Filters.Mirrors)
	if err != nil {
		return nil, within("filters", err)
	}
	route.Action = &envoy_route_v3.Route_Route{Route: action}
	spread(route, action, edits, shares)
	return append(uses, mirrored...), nil
}

// unavailable is the status of requests without a backend.
func unavailable(m model.Match) uint32 {
	if m.GRPC {
		return 503
	}
	return 500
}

// share is the part of a route's requests that goes to one backend.
type share struct {
	cluster string
	weight  uint32
	edits   headerEdits
	session settings // those that keep clients at one endpoint
}

// translateShares checks backends; those of weight 0 get nothing and are dropped.
func translateShares(backends []model.WeightedBackend) ([]share, error) {
	var out []share
	var sum uint64
	for i, b := range backends {
		if b.Weight == 0 {
			continue
		}
		if sum += uint64(b.Weight); sum > math.MaxUint32 {
			return nil, tooHeavy("forward.backends", sum)
		}
		s, err := translateShare(b)
		if err != nil {
			return nil, within("forward.backends["+strconv.Itoa(i)+"]", err)
		}
		out = append(out, s)
	}
	return out, nil
}

func translateShare(b model.WeightedBackend) (share, error) {
	if b.Cluster == "" {
		return share{cluster: noBackend, weight: b.Weight}, nil
	}
	if err := checkName("cluster", string(b.Cluster)); err != nil {
		return share{}, err
	}
	edits, err := translateFilters(b.Filters)
	if err != nil {
		return share{}, within("filters", err)
	}
	session, err := translateSession(b.Session)
	return share{cluster: string(b.Cluster), weight: b.Weight, edits: edits, session: session}, within("session", err)
}

func usedClusters(shares []share) []xdsserve.Name {
	var out []xdsserve.Name
	for _, s := range shares {
		if s.cluster != noBackend {
			out = append(out, xdsserve.Name{Type: xdsserve.Cluster, Name: s.cluster})
		}
	}
	return out
}

// spread sets where requests go and how headers change. The edits of a rule
// come before those of a backend. Envoy would apply them the other way round, so
// that where a backend has its own, the rule's go with them to every share.
func spread(route *envoy_route_v3.Route, action *envoy_route_v3.RouteAction, rule headerEdits, shares []share) {
	if len(shares) == 1 {
		action.ClusterSpecifier = &envoy_route_v3.RouteAction_Cluster{Cluster: shares[0].cluster}
		rule.then(shares[0].edits).onRoute(route)
		route.TypedPerFilterConfig = shares[0].session
		return
	}
	shared := !slices.ContainsFunc(shares, func(s share) bool { return !s.edits.isZero() })
	if shared {
		rule.onRoute(route)
	}
	weighted := &envoy_route_v3.WeightedCluster{}
	for _, s := range shares {
		out := &envoy_route_v3.WeightedCluster_ClusterWeight{Name: s.cluster, Weight: wrapperspb.UInt32(s.weight), TypedPerFilterConfig: s.session}
		if !shared {
			rule.then(s.edits).onShare(out)
		}
		weighted.Clusters = append(weighted.Clusters, out)
	}
	action.ClusterSpecifier = &envoy_route_v3.RouteAction_WeightedClusters{WeightedClusters: weighted}
}
