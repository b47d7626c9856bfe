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
	for _, text := range object.Spec.IPs {
		if address, err := netip.ParseAddr(text); err == nil {
			to := netip.AddrPortFrom(address.Unmap(), port.Number)
			found[to] = model.Endpoint{Address: to}
		}
	}
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
	steps := []verdict.Step{ok(verdict.Referenced, "routes that serve forward to it")}
	if derive.Exists(c, b.slicesByService, self.String()) {
		return serve(self, steps...), true
	}
	virtual := object.Spec.Type == mcs_v1alpha1.ClusterSetIP && len(object.Spec.IPs) > 0
	if virtual {
		steps = append(steps, ok(verdict.Referenced, "no EndpointSlice with label "+mcs_v1alpha1.LabelServiceName+" is of it: it is reached by spec.ips"))
	} else {
		steps = append(steps, problemf(verdict.NoReadyEndpoints, "metadata.name", "no EndpointSlice with label %s is of it; what is sent to it is not answered", mcs_v1alpha1.LabelServiceName).step(verdict.Warning))
	}
	return serve(self, steps...), true
}
