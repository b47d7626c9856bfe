package compile

import (
	"slices"

	core_v1 "k8s.io/api/core/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// servicePort is one TCP or UDP port of a Service or ServiceImport: what a backendRef
// resolves to.
type servicePort struct {
	Name        string // of the port, which endpoints are found by
	AppProtocol string
	UDP         bool
	Number      uint16
}

// portProtocol tells TCP from UDP; other protocols are not forwarded.
func portProtocol(p core_v1.Protocol) (udp, known bool) {
	switch p {
	case "", core_v1.ProtocolTCP:
		return false, true
	case core_v1.ProtocolUDP:
		return true, true
	default:
		return false, false
	}
}

// servicePorts makes each port a value of its own, so that routes run again only
// when a port that they use changes. ExternalName Services have none: forwarding
// to them would let whoever writes a Service reach any name (CVE-2021-25740).
func servicePorts(_ *derive.Ctx, _ string, service *core_v1.Service) []derive.Item[servicePort] {
	if service.Spec.Type == core_v1.ServiceTypeExternalName {
		return nil
	}
	var items []derive.Item[servicePort]
	for _, p := range service.Spec.Ports {
		if item, known := portItem(p.Name, p.Protocol, p.Port, p.AppProtocol); known {
			items = append(items, item)
		}
	}
	return firstByKey(items)
}

// portItem is the item of one port, by its number and protocol.
func portItem(name string, p core_v1.Protocol, number int32, appProtocol *string) (item derive.Item[servicePort], known bool) {
	udp, known := portProtocol(p)
	return derive.Item[servicePort]{
		Key:   string(portOf(int(number), udp)),
		Value: servicePort{name, orElse(appProtocol, ""), udp, uint16(number)},
	}, known
}

// firstByKey leaves of items with one key the first.
func firstByKey[T any](items []derive.Item[T]) []derive.Item[T] {
	seen := map[string]bool{}
	return slices.DeleteFunc(items, func(item derive.Item[T]) bool {
		again := seen[item.Key]
		seen[item.Key] = true
		return again
	})
}

// isExternal tells of a Service whether it is of type ExternalName.
func isExternal(_ *derive.Ctx, _ string, service *core_v1.Service) (bool, bool) {
	return service.Spec.Type == core_v1.ServiceTypeExternalName, true
}

func serviceRef(name string) store.Key { return store.Key{Collection: kindService, Name: name} }

// serviceFinding decides over a Service.
func (b *build) serviceFinding(c *derive.Ctx, key string, service *core_v1.Service) (Finding, bool) {
	self := serviceRef(key)
	switch {
	case service.Spec.Type == core_v1.ServiceTypeExternalName:
		return exclude(self, problemf(verdict.InvalidKind, "spec.type", "ExternalName Services are not forwarded to: use an XBackend with externalHostname")), true
	case b.usedBySomething(c, self.String()), b.contributes(c, key):
		spec := service.Spec
		steps := passedBy(spec.SessionAffinity, spec.InternalTrafficPolicy, spec.TrafficDistribution)
		return serve(self, append(steps, ok(verdict.Referenced, "routes that serve forward to it"))...), true
	case b.wanted(c, key):
		return exclude(self, problemf(verdict.NoReadyEndpoints, "spec.selector", "an XBackend selects by its labels, and it has no endpoint that is ready and not listed elsewhere too")), true
	default:
		return exclude(self, problemf(verdict.NotReferenced, "", "no route that serves forwards to one of its ports")), true
	}
}

// passedBy are fields of a Service or ServiceImport that say how its virtual address
// is served: requests pass that by and go to endpoints.
func passedBy(affinity core_v1.ServiceAffinity, policy *core_v1.ServiceInternalTrafficPolicy, distribution *string) []verdict.Step {
	var steps []verdict.Step
	passed := func(field, value, remedy string) {
		steps = append(steps, problemf(verdict.NoEffect, field, "%q is for the virtual address, and requests go to the endpoints themselves: %s", value, remedy).step(verdict.Warning))
	}
	if affinity == core_v1.ServiceAffinityClientIP {
		passed("spec.sessionAffinity", string(affinity), "use sessionPersistence of a rule")
	}
	if orElse(policy, core_v1.ServiceInternalTrafficPolicyCluster) == core_v1.ServiceInternalTrafficPolicyLocal {
		passed("spec.internalTrafficPolicy", string(*policy), "all that are ready get their share")
	}
	if d := orElse(distribution, ""); d != "" {
		passed("spec.trafficDistribution", d, "all that are ready get their share")
	}
	return steps
}
