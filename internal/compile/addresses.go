package compile

import (
	"net/netip"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// bind reads spec.addresses. An address without a value may be any, so it is the
// default. An entry that asks for a routability is left without an address, and the
// others are bound: where addresses can be reached from is not known here, and another
// scope must not stand in (GEP-5093).
func (g *gateway) bind(wanted []gateway_v1.GatewaySpecAddress) {
	for i, a := range wanted {
		address, why := bindable(i, a)
		if why == nil && a.Routability != gateway_v1.GatewayAddressRoutabilityDefault {
			g.Unassigned = append(g.Unassigned, problemf(verdict.UnsupportedAddress, indexed("spec.addresses", i)+".routability", "%q: no address is known to have it; leave it out for an address of this machine", a.Routability))
			continue
		}
		g.Problem = first(g.Problem, why)
		g.Addresses = append(g.Addresses, address)
	}
	switch {
	case len(g.Addresses) == 0:
		g.Addresses = []netip.Addr{{}}
		if len(g.Unassigned) > 0 {
			g.Problem = first(g.Problem, g.Unassigned[0])
		}
	default:
		g.Warnings = append(g.Warnings, g.Unassigned...)
	}
	g.Addresses = apart(g.Addresses)
}

func bindable(i int, a gateway_v1.GatewaySpecAddress) (netip.Addr, *problem) {
	kind := orElse(a.Type, gateway_v1.IPAddressType)
	field := indexed("spec.addresses", i)
	switch {
	case kind != gateway_v1.IPAddressType:
		return netip.Addr{}, problemf(verdict.UnsupportedAddress, field+".type", "%q: only %s can be bound", kind, gateway_v1.IPAddressType)
	case a.Value == "":
		return netip.Addr{}, nil
	}
	address, err := netip.ParseAddr(a.Value)
	if err != nil || address.Zone() != "" {
		return netip.Addr{}, problemf(verdict.UnsupportedAddress, field+".value", "%q: must be an IP address without a zone", a.Value)
	}
	return address.Unmap(), nil
}

// addressless tells that the Gateway has no address because of what it asks for.
func (g gateway) addressless() bool { return len(g.Unassigned) > 0 && g.Problem == g.Unassigned[0] }

// unprogrammed is why a Gateway that is not accepted has no proxy.
func (g gateway) unprogrammed() gateway_v1.GatewayConditionReason {
	if g.addressless() {
		return gateway_v1.GatewayReasonAddressNotAssigned
	}
	return gateway_v1.GatewayReasonInvalid
}

// unassigned tells of entries of spec.addresses without an address.
func (g gateway) unassigned(c *conditions) {
	if len(g.Unassigned) == 0 {
		return
	}
	var why []string
	for _, p := range g.Unassigned {
		why = append(why, p.sentence())
	}
	reason := gateway_v1.GatewayReasonAddressesPartiallyAssigned
	if g.addressless() {
		reason = gateway_v1.GatewayReasonAddressesNotAssigned
	}
	c.set(string(gateway_v1.GatewayConditionAddressesAssigned), conditionFalse, string(reason), strings.Join(why, "; "))
}
