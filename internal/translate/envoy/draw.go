package envoy

import (
	"cmp"
	"slices"

	xds_matcher_v3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	envoy_udp_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"
	envoy_network_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/common_inputs/network/v3"
	envoy_hashing_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/input_matchers/consistent_hashing/v3"
)

// The UDP proxy has one cluster for what matches, and no weights. It can match by a
// hash of the client's port, or of its address, but not of both. By ports alone, all
// clients that send from one port, as those of NTP do, would have the same backend;
// by addresses alone, all that is behind one. So the hash of the port, a point on a
// circle that the backends share by weight, is turned by one of turns angles that the
// hash of the address selects. Many ports of one address meet the weights exactly,
// many addresses with one port to one part in turns, and a client has the same
// backend in every session, on every worker, as long as the weights stay.
const turns = 16

// Seeds make the two hashes independent.
const (
	addressSeed = 1
	portSeed    = 2
)

// drawByClient chooses among shares by the client's address and port.
func drawByClient(shares []streamShare) (*xds_matcher_v3.Matcher, error) {
	switch len(shares) {
	case 0:
		return toCluster(noBackend)
	case 1:
		return toCluster(shares[0].cluster)
	}
	var sum uint64
	for _, s := range shares {
		sum += uint64(s.weight)
	}
	var turned []arc
	for turn := range uint64(turns) {
		draw, err := onCircle(shares, sum, turn*sum/turns)
		if err != nil {
			return nil, err
		}
		turned = append(turned, arc{from: uint32(turn), draw: draw})
	}
	return byHash(turned, turns, addressSeed, &envoy_network_v3.SourceIPInput{})
}

// onCircle chooses among shares by the client's port, with the circle turned.
func onCircle(shares []streamShare, sum, turn uint64) (*xds_matcher_v3.Matcher, error) {
	var arcs []arc
	var start uint64
	for _, s := range shares {
		draw, err := toCluster(s.cluster)
		if err != nil {
			return nil, err
		}
		arcs = append(arcs, arc{from: uint32((start + sum - turn) % sum), draw: draw})
		start += uint64(s.weight)
	}
	slices.SortFunc(arcs, func(a, b arc) int { return cmp.Compare(a.from, b.from) })
	if last := arcs[len(arcs)-1]; arcs[0].from != 0 {
		arcs = slices.Insert(arcs, 0, arc{draw: last.draw})
	}
	return byHash(arcs, uint32(sum), portSeed, &envoy_network_v3.SourcePortInput{})
}

// arc is what is chosen from one hash on, up to that of the next arc.
type arc struct {
	from uint32
	draw *xds_matcher_v3.Matcher
}

// byHash chooses among arcs, the first of which begins at 0, by the hash of an input.
func byHash(arcs []arc, size uint32, seed uint64, input message) (*xds_matcher_v3.Matcher, error) {
	of, err := matcherExtension("input", input)
	if err != nil {
		return nil, err
	}
	list := &xds_matcher_v3.Matcher_MatcherList{}
	for _, a := range slices.Backward(arcs[1:]) {
		over, err := matcherExtension("envoy.matching.matchers.consistent_hashing", &envoy_hashing_v3.ConsistentHashing{Threshold: a.from, Modulo: size, Seed: seed})
		if err != nil {
			return nil, err
		}
		list.Matchers = append(list.Matchers, &xds_matcher_v3.Matcher_MatcherList_FieldMatcher{
			Predicate: &xds_matcher_v3.Matcher_MatcherList_Predicate{MatchType: &xds_matcher_v3.Matcher_MatcherList_Predicate_SinglePredicate_{
				SinglePredicate: &xds_matcher_v3.Matcher_MatcherList_Predicate_SinglePredicate{
					Input:   of,
					Matcher: &xds_matcher_v3.Matcher_MatcherList_Predicate_SinglePredicate_CustomMatch{CustomMatch: over},
				},
			}},
			OnMatch: chosen(a.draw),
		})
	}
	return &xds_matcher_v3.Matcher{
		MatcherType: &xds_matcher_v3.Matcher_MatcherList_{MatcherList: list}, OnNoMatch: chosen(arcs[0].draw),
	}, nil
}

// chosen goes on with a choice. One that is settled already is taken as it is.
func chosen(draw *xds_matcher_v3.Matcher) *xds_matcher_v3.Matcher_OnMatch {
	if draw.GetMatcherType() == nil {
		return draw.GetOnNoMatch()
	}
	return &xds_matcher_v3.Matcher_OnMatch{OnMatch: &xds_matcher_v3.Matcher_OnMatch_Matcher{Matcher: draw}}
}

// toCluster sends everything to one cluster; what goes to one that does not exist is dropped.
func toCluster(name string) (*xds_matcher_v3.Matcher, error) {
	action, err := matcherExtension("route", &envoy_udp_v3.Route{Cluster: name})
	return &xds_matcher_v3.Matcher{OnNoMatch: &xds_matcher_v3.Matcher_OnMatch{
		OnMatch: &xds_matcher_v3.Matcher_OnMatch_Action{Action: action},
	}}, err
}
