package compile

import (
	"strconv"

	core_v1 "k8s.io/api/core/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// servicePort is one TCP port of a Service: what a backendRef resolves to.
type servicePort struct {
	Name        string // of the port, which endpoints are found by
	AppProtocol string
}

// servicePorts makes each port a value of its own, so that routes run again only
// when a port that they use changes. ExternalName Services have none: forwarding
// to them would let whoever writes a Service reach any name (CVE-2021-25740).
func servicePorts(_ *derive.Ctx, _ string, service *core_v1.Service) []derive.Item[servicePort] {
	if service.Spec.Type == core_v1.ServiceTypeExternalName {
		return nil
	}
	var items []derive.Item[servicePort]
	seen := map[int32]bool{}
	for _, p := range service.Spec.Ports {
		if protocolOr(p.Protocol) == core_v1.ProtocolTCP && !seen[p.Port] {
			seen[p.Port] = true
			items = append(items, derive.Item[servicePort]{Key: strconv.Itoa(int(p.Port)), Value: servicePort{p.Name, orElse(p.AppProtocol, "")}})
		}
	}
	return items
}

func protocolOr(p core_v1.Protocol) core_v1.Protocol {
	if p == "" {
		return core_v1.ProtocolTCP
	}
	return p
}

// isExternal tells of a Service whether it is of type ExternalName.
func isExternal(_ *derive.Ctx, _ string, service *core_v1.Service) (bool, bool) {
	return service.Spec.Type == core_v1.ServiceTypeExternalName, true
}

// serviceFinding decides over a Service.
func (b *build) serviceFinding(c *derive.Ctx, key string, service *core_v1.Service) (Finding, bool) {
	self := store.Key{Collection: kindService, Name: key}
	switch {
	case service.Spec.Type == core_v1.ServiceTypeExternalName:
		return exclude(self, problemf(verdict.InvalidKind, "spec.type", "ExternalName Services are not forwarded to: use an XBackend with externalHostname")), true
	case b.serviceServes(c, key):
		return serve(self, ok(verdict.Referenced, "routes that serve forward to it")), true
	default:
		return exclude(self, problemf(verdict.NotReferenced, "", "no route that serves forwards to one of its ports")), true
	}
}
