package compile

import (
	"net/netip"

	mcs_v1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// importPorts makes each port of a ServiceImport a value of its own, as those of a
// Service are (GEP-1748: what is said of Services holds for ServiceImports).
func importPorts(_ *derive.Ctx, _ string, object *mcs_v1alpha1.ServiceImport) []derive.Item[servicePort] {
	var items []derive.Item[servicePort]
	for _, p := range object.Spec.Ports {
		if item, known := portItem(p.Name, p.Protocol, p.Port, p.AppProtocol); known {
			items = append(items, item)
		}
	}
	return firstByKey(items)
}

// addVirtual adds the addresses that a ServiceImport has in its cluster set, where no
// EndpointSlice of it is known: it may be imported without any. One that is headless
// has no such address.
func (b *build) addVirtual(c *derive.Ctx, found map[netip.AddrPort]model.Endpoint, at upstream) {
	if derive.Exists(c, b.slicesByService, at.Origin.String()) {
		return
	}
	object, _ := derive.Get(c, b.in.imports, at.Origin.Name)
	port, _ := derive.Get(c, b.ports, at.Service)
	if object == nil || object.Spec.Type != mcs_v1alpha1.ClusterSetIP || port.Number == 0 {
		return
	}
	for i := range object.Spec.IPs {
		if address, why := importAddress(object, i); why == nil {
			to := netip.AddrPortFrom(address, port.Number)
			found[to] = model.Endpoint{Address: to}
		}
	}
}

// importAddress is an address of the cluster set, with the rules for those of
// EndpointSlices, which the definition of ServiceImports leaves open.
func importAddress(object *mcs_v1alpha1.ServiceImport, i int) (netip.Addr, *problem) {
	text, field := object.Spec.IPs[i], indexed("spec.ips", i)
	address, err := netip.ParseAddr(text)
	address = address.Unmap()
	switch {
	case err != nil || address.Zone() != "":
		return netip.Addr{}, problemf(verdict.UnsupportedValue, field, "%q: must be an IP address; nothing is sent there", text)
	case address.IsUnspecified() || address.IsLinkLocalUnicast() || address.IsMulticast():
		return netip.Addr{}, problemf(verdict.UnsupportedValue, field, "%q: must not be an unspecified, link-local or multicast address; nothing is sent there", text)
	}
	return address, nil
}

// ownerServes tells whether something that serves forwards to the Service or
// ServiceImport of a slice.
func (b *build) ownerServes(c *derive.Ctx, owner store.Key) bool {
	if owner.Collection == kindService {
		return b.wanted(c, owner.Name)
	}
	return b.usedBySomething(c, owner.String())
}

// importFinding decides over a ServiceImport.
func (b *build) importFinding(c *derive.Ctx, key string, object *mcs_v1alpha1.ServiceImport) (Finding, bool) {
	self := store.Key{Collection: kindServiceImport, Name: key}
	if !b.usedBySomething(c, self.String()) {
		return exclude(self, problemf(verdict.NotReferenced, "", "no route that serves forwards to one of its ports")), true
	}
	spec := object.Spec
	steps := append(passedBy(spec.SessionAffinity, spec.InternalTrafficPolicy, spec.TrafficDistribution), ok(verdict.Referenced, "routes that serve forward to it"))
	if derive.Exists(c, b.slicesByService, self.String()) {
		return serve(self, steps...), true
	}
	return serve(self, append(steps, virtualSteps(object)...)...), true
}

// virtualSteps say how a ServiceImport without EndpointSlices is reached.
func virtualSteps(object *mcs_v1alpha1.ServiceImport) []verdict.Step {
	var steps []verdict.Step
	usable := 0
	if object.Spec.Type == mcs_v1alpha1.ClusterSetIP {
		for i := range object.Spec.IPs {
			if _, why := importAddress(object, i); why != nil {
				steps = append(steps, why.step(verdict.Warning))
				continue
			}
			usable++
		}
	}
	if usable > 0 {
		return append(steps, ok(verdict.Referenced, "no EndpointSlice with label "+mcs_v1alpha1.LabelServiceName+" is of it: it is reached by spec.ips"))
	}
	return append(steps, problemf(verdict.NoReadyEndpoints, "metadata.name", "no EndpointSlice with label %s is of it; what is sent to it is not answered", mcs_v1alpha1.LabelServiceName).step(verdict.Warning))
}
