package compile

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	mcs_v1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// endpointSet is the endpoints of one cluster, and the slices that they come from.
type endpointSet struct {
	Endpoints model.Endpoints
	Sources   []string // "namespace/name", in order
}

// ownersOf are the Service and the ServiceImport that a slice belongs to, if any.
func ownersOf(slice *discovery_v1.EndpointSlice) []store.Key {
	var out []store.Key
	if name := slice.Labels[discovery_v1.LabelServiceName]; name != "" {
		out = append(out, snapshot.Ref(kindService, slice.Namespace, name))
	}
	if name := slice.Labels[mcs_v1alpha1.LabelServiceName]; name != "" {
		out = append(out, snapshot.Ref(kindServiceImport, slice.Namespace, name))
	}
	return out
}

// endpoints finds the addresses of one cluster.
func (b *build) endpoints(c *derive.Ctx, id string) (endpointSet, bool) {
	at := derive.First(c, b.clustersByID, id, 1)[0].Value.Upstream
	out := endpointSet{Endpoints: model.Endpoints{Cluster: model.ClusterID(id), Origins: []model.Ref{at.Origin}}}
	found := map[netip.AddrPort]model.Endpoint{}
	add := func(owner store.Key, port func(*discovery_v1.EndpointSlice) uint16) {
		for _, item := range derive.All(c, b.slicesByService, owner.String()) {
			if addSlice(found, item.Value, port(item.Value)) {
				out.Sources = append(out.Sources, item.Key)
				out.Endpoints.Origins = append(out.Endpoints.Origins, model.Ref{Collection: kindEndpointSlice, Name: item.Key})
			}
		}
	}
	if at.Selector == "" {
		port, _ := derive.Get(c, b.ports, at.Service)
		add(at.Origin, func(slice *discovery_v1.EndpointSlice) uint16 { return portNumber(slice, port) })
	} else {
		for _, service := range b.selectedServices(c, at.Selector) {
			add(serviceRef(service), func(*discovery_v1.EndpointSlice) uint16 { return at.Port })
		}
	}
	if at.Origin.Collection == kindServiceImport {
		b.addVirtual(c, found, at)
	}
	for _, e := range found {
		out.Endpoints.Addresses = append(out.Endpoints.Addresses, e)
	}
	slices.SortFunc(out.Endpoints.Addresses, func(a, b model.Endpoint) int { return a.Address.Compare(b.Address) })
	return out, true
}

// addSlice adds the endpoints of one slice, and reports whether it had any that
// were not there already. An endpoint that is both ready and draining is ready.
func addSlice(found map[netip.AddrPort]model.Endpoint, slice *discovery_v1.EndpointSlice, port uint16) (added bool) {
	if port == 0 {
		return false
	}
	for _, e := range slice.Endpoints {
		takes, draining := takesRequests(e.Conditions)
		if !takes {
			continue
		}
		for _, text := range e.Addresses {
			address, err := netip.ParseAddr(text)
			if err != nil {
				continue
			}
			at := netip.AddrPortFrom(address.Unmap(), port)
			if other, known := found[at]; !known || other.Draining && !draining {
				found[at], added = model.Endpoint{Address: at, Draining: draining}, true
			}
		}
	}
	return added
}

// portNumber is the slice's port of that name and protocol; 0 without one.
func portNumber(slice *discovery_v1.EndpointSlice, of servicePort) uint16 {
	for _, p := range slice.Ports {
		udp, known := portProtocol(orElse(p.Protocol, core_v1.ProtocolTCP))
		if known && udp == of.UDP && orElse(p.Name, "") == of.Name {
			return uint16(orElse(p.Port, 0))
		}
	}
	return 0
}

// takesRequests reads the conditions of an endpoint: one that is not ready and
// still serves while it terminates is draining.
func takesRequests(conditions discovery_v1.EndpointConditions) (takes, draining bool) {
	if orElse(conditions.Ready, true) {
		return true, false
	}
	draining = orElse(conditions.Serving, false) && orElse(conditions.Terminating, false)
	return draining, draining
}

func endpointsOf(_ string, s endpointSet) model.Endpoints { return s.Endpoints }

// sourceItems are the slices that a cluster has endpoints from.
func sourceItems(_ *derive.Ctx, _ string, s endpointSet) []derive.Item[string] {
	items := make([]derive.Item[string], len(s.Sources))
	for i, slice := range s.Sources {
		items[i] = derive.Item[string]{Key: slice, Value: slice}
	}
	return items
}

// sliceFinding decides over an EndpointSlice.
func (b *build) sliceFinding(c *derive.Ctx, key string, slice *discovery_v1.EndpointSlice) (Finding, bool) {
	self := store.Key{Collection: kindEndpointSlice, Name: key}
	owners := ownersOf(slice)
	switch {
	case len(owners) == 0:
		return exclude(self, problemf(verdict.NotReferenced, "metadata.labels", "no label %s names its Service, and no label %s its ServiceImport", discovery_v1.LabelServiceName, mcs_v1alpha1.LabelServiceName)), true
	case slice.AddressType == discovery_v1.AddressTypeFQDN:
		return exclude(self, problemf(verdict.UnsupportedAddress, "addressType", "FQDN: endpoints of Services are addresses; use an XBackend with externalHostname, whose name is resolved")), true
	case derive.Exists(c, b.sourcesBySlice, key):
		return serve(self, ok(verdict.Referenced, "endpoints of it take requests")), true
	case !slices.ContainsFunc(owners, func(owner store.Key) bool { return b.ownerServes(c, owner) }):
		return exclude(self, problemf(verdict.NotReferenced, "", "no route that serves forwards to %s", owners[len(owners)-1]).about(owners...)), true
	default:
		return exclude(self, problemf(verdict.NoReadyEndpoints, "endpoints", "%s", emptiness(slice))), true
	}
}

// emptiness says why a slice of a used Service has nothing to add.
func emptiness(slice *discovery_v1.EndpointSlice) string {
	ready := slices.ContainsFunc(slice.Endpoints, func(e discovery_v1.Endpoint) bool {
		takes, _ := takesRequests(e.Conditions)
		return takes
	})
	if !ready {
		return "none of its endpoints is ready"
	}
	var names []string
	for _, p := range slice.Ports {
		names = append(names, cmp.Or(orElse(p.Name, ""), `""`))
	}
	return "no port in use of its Service is named like one of its own (" + strings.Join(names, ", ") + "), or its endpoints are listed elsewhere too"
}
