package schema

import (
	"net/netip"

	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of an EndpointSlice, as Kubernetes has them.
const (
	maxEndpoints = 1000
	maxAddresses = 100
	maxPorts     = 20000
)

func fillEndpointSlice(object map[string]any) {
	for _, p := range mapsAt(object, "ports") {
		setDefault(p, "name", "")
		setDefault(p, "protocol", string(core_v1.ProtocolTCP))
	}
	setDefault(object, "endpoints", []any{})
}

var addressTypes = []discovery_v1.AddressType{discovery_v1.AddressTypeFQDN, discovery_v1.AddressTypeIPv4, discovery_v1.AddressTypeIPv6}

func checkEndpointSlice(s *discovery_v1.EndpointSlice) (errs field.ErrorList) {
	at := field.NewPath("addressType")
	if s.AddressType == "" {
		return append(errs, field.Required(at, ""))
	}
	errs = oneOf(at, s.AddressType, addressTypes)
	if n := len(s.Endpoints); n > maxEndpoints {
		errs = append(errs, field.TooMany(field.NewPath("endpoints"), n, maxEndpoints))
	}
	for i, e := range s.Endpoints {
		at := field.NewPath("endpoints").Index(i).Child("addresses")
		switch n := len(e.Addresses); {
		case n == 0:
			errs = append(errs, field.Required(at, "an endpoint has at least one address"))
		case n > maxAddresses:
			errs = append(errs, field.TooMany(at, n, maxAddresses))
		}
		for j, a := range e.Addresses {
			errs = append(errs, checkAddress(at.Index(j), a, s.AddressType)...)
		}
	}
	return append(errs, checkEndpointPorts(s.Ports, field.NewPath("ports"))...)
}

// checkAddress allows loopback, which an API server does not: on one machine
// that is where backends are.
func checkAddress(at *field.Path, address string, t discovery_v1.AddressType) (errs field.ErrorList) {
	if t == discovery_v1.AddressTypeFQDN {
		for _, why := range validation.IsFullyQualifiedDomainName(at, address) {
			errs = append(errs, field.Invalid(at, address, why.Detail))
		}
		return errs
	}
	ip, err := netip.ParseAddr(address)
	switch {
	case err != nil || ip.Zone() != "":
		return append(errs, field.Invalid(at, address, "must be an IP address"))
	case ip.Is4() != (t == discovery_v1.AddressTypeIPv4):
		return append(errs, field.Invalid(at, address, "must be an "+string(t)+" address, as addressType says"))
	case ip.IsUnspecified(), ip.IsLinkLocalUnicast(), ip.IsMulticast():
		return append(errs, field.Invalid(at, address, "must not be an unspecified, link-local or multicast address"))
	}
	return nil
}

func checkEndpointPorts(ports []discovery_v1.EndpointPort, at *field.Path) (errs field.ErrorList) {
	if n := len(ports); n > maxPorts {
		return append(errs, field.TooMany(at, n, maxPorts))
	}
	names := map[string]bool{}
	for i, p := range ports {
		at := at.Index(i)
		if names[*p.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), *p.Name))
		}
		errs = append(errs, checkPortName(at.Child("name"), *p.Name, false, map[string]bool{})...)
		names[*p.Name] = true
		errs = append(errs, oneOf(at.Child("protocol"), *p.Protocol, protocols)...)
		if p.Port != nil {
			errs = append(errs, checkPort(at.Child("port"), int(*p.Port))...)
		}
	}
	return errs
}

func changeEndpointSlice(before, after *discovery_v1.EndpointSlice) (errs field.ErrorList) {
	if before.AddressType != after.AddressType {
		errs = append(errs, field.Invalid(field.NewPath("addressType"), after.AddressType, "cannot change, it was "+string(before.AddressType)))
	}
	return errs
}
