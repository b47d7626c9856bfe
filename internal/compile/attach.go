package compile

import (
	"fmt"
	"slices"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// attachFeatures are the features of Gateway API that this file compiles.
var attachFeatures = featureNames{
	features.SupportGatewayHTTPListenerIsolation,
	features.SupportGatewayRouteHostnameIntersectionPrecedence,
	features.SupportHTTPRouteDestinationPortMatching,
	features.SupportHTTPRouteParentRefPort,
}

// attachment is where a route attaches: one entry for each parentRef.
type attachment struct {
	Parents []parent
}

// parent is what became of one parentRef.
type parent struct {
	Index int
	// Managed tells that the parent is a Gateway of this controller, which owes
	// the route a status.
	Managed bool
	Gateway model.GatewayID
	// Problem is why the route attaches to no listener of the parent.
	Problem *problem
	Joints  []joint
	// Notes are host names that another listener takes.
	Notes []*problem
}

// joint is one listener that a route attaches to.
type joint struct {
	section
	// Meetings are the domains that the route serves there; none for TCP.
	Meetings []meeting
	// Selection is the namespace selection that lets the route in, or empty.
	Selection string
}

// guest is a route that asks to attach.
type guest struct {
	Kind, Namespace string
	Hostnames       []string
	// Invalid is a host name that cannot be one: then the route attaches nowhere.
	Invalid *problem
	Parents []gateway_v1.ParentReference
}

// attach decides for each parentRef of a route.
func (b *build) attach(c *derive.Ctx, g guest) attachment {
	out := attachment{Parents: make([]parent, len(g.Parents))}
	for i, ref := range g.Parents {
		out.Parents[i] = b.attachTo(c, g, ref, parent{Index: i})
	}
	return out
}

func (b *build) attachTo(c *derive.Ctx, g guest, ref gateway_v1.ParentReference, p parent) parent {
	to, field := parentTarget(ref, g.Namespace), indexed("spec.parentRefs", p.Index)
	if !to.is(gatewayGroup, kindGateway) {
		p.Problem = foreignParent(field, to)
		return p
	}
	p.Gateway = model.GatewayID(to.name())
	managed, exists := derive.Get(c, b.managed, to.name())
	switch {
	case !exists:
		p.Problem = problemf(verdict.ParentNotFound, field, "Gateway %s does not exist", to.name()).about(to.key())
		return p
	case !managed:
		p.Problem = problemf(verdict.OtherController, field, "Gateway %s belongs to another controller, or to none", to.name()).about(to.key())
		return p
	}
	if p.Managed, p.Problem = true, g.Invalid; p.Problem != nil {
		return p
	}
	var all []section
	for _, item := range derive.Prefix(c, b.sections, to.name()+"|") {
		all = append(all, item.Value)
	}
	b.join(c, g, ref, field, all, &p)
	return p
}

func foreignParent(field string, to target) *problem {
	if to.is(gatewayGroup, "ListenerSet") {
		return problemf(verdict.NotYetSupported, field+".kind", "ListenerSet %s: ListenerSets are not served yet", to.name()).about(to.key())
	}
	return problemf(verdict.UnsupportedParent, field+".kind", "%s of group %q: routes attach to Gateways only", to.Kind, to.Group)
}

// join attaches a route to the listeners of one Gateway that it names, that let
// it in, and that have a host name in common with it: the first of these that
// leaves none is the problem.
func (b *build) join(c *derive.Ctx, g guest, ref gateway_v1.ParentReference, field string, all []section, p *parent) {
	named := slices.DeleteFunc(slices.Clone(all), func(s section) bool { return !names(ref, s) })
	if len(named) == 0 {
		p.Problem = problemf(verdict.NoMatchingParent, field, "Gateway %s has no listener%s", p.Gateway, wanted(ref))
		return
	}
	letIn := false
	for _, s := range named {
		if !slices.Contains(s.Kinds, g.Kind) {
			continue
		}
		yes, selection := b.takes(c, s.Scope, g.Namespace)
		if !yes {
			continue
		}
		letIn = true
		if j := (joint{section: s, Selection: selection}); g.meet(&j) {
			p.Joints = append(p.Joints, j)
		}
	}
	switch {
	case !letIn:
		p.Problem = problemf(verdict.NotAllowedByListeners, field, "no listener%s of Gateway %s allows %ss from namespace %s", wanted(ref), p.Gateway, g.Kind, g.Namespace)
	case len(p.Joints) == 0:
		p.Problem = problemf(verdict.NoMatchingListenerHostname, "spec.hostnames", "no listener of Gateway %s that allows the route matches hostname %s", p.Gateway, strings.Join(g.Hostnames, ", "))
	default:
		p.isolate(all)
	}
}

// meet sets the domains that the route and the listener have in common.
func (g guest) meet(j *joint) bool {
	if !j.named() {
		return true
	}
	j.Meetings = meet(j.Hostname, g.Hostnames)
	return len(j.Meetings) > 0
}

// isolate takes from each joint the domains whose requests belong to a listener
// of the port with a more specific host name: a request matches one listener only.
func (p *parent) isolate(all []section) {
	for i := range p.Joints {
		j := &p.Joints[i]
		j.Meetings = slices.DeleteFunc(slices.Clone(j.Meetings), func(m meeting) bool {
			owner := ownerOf(m.Domain, j.section, all)
			if owner == j.Name {
				return false
			}
			if !slices.ContainsFunc(p.Joints, func(other joint) bool { return other.Name == owner }) {
				p.Notes = append(p.Notes, problemf(verdict.ListenerIsolation, "spec.hostnames",
					"requests for %s on port %d belong to listener %s of Gateway %s, to which the route does not attach", m.Domain, j.Port, owner, p.Gateway))
			}
			return true
		})
	}
}

// ownerOf names the listener that requests for a domain belong to: of the
// accepted ones on the port, the one with the most specific host name that
// covers it. A listener that is not accepted itself owns what it asks for.
func ownerOf(domain string, self section, all []section) string {
	if !self.Accepted {
		return self.Name
	}
	owner := self
	for _, s := range all {
		if s.Accepted && s.Port == self.Port && family(s.Protocol) == family(self.Protocol) &&
			covers(s.Hostname, hostOf(domain)) && compareHosts(s.Hostname, owner.Hostname) < 0 {
			owner = s
		}
	}
	return owner.Name
}

func names(ref gateway_v1.ParentReference, s section) bool {
	return string(orElse(ref.SectionName, gateway_v1.SectionName(s.Name))) == s.Name &&
		orElse(ref.Port, gateway_v1.PortNumber(s.Port)) == gateway_v1.PortNumber(s.Port)
}

// wanted says which listeners a parentRef selects, to be put after the word.
func wanted(ref gateway_v1.ParentReference) string {
	var parts []string
	if ref.SectionName != nil {
		parts = append(parts, fmt.Sprintf(" with name %s", *ref.SectionName))
	}
	if ref.Port != nil {
		parts = append(parts, fmt.Sprintf(" on port %d", *ref.Port))
	}
	return strings.Join(parts, "")
}

func (b *build) attachHTTP(c *derive.Ctx, _ string, route *gateway_v1.HTTPRoute) (attachment, bool) {
	g := guest{Kind: kindHTTPRoute, Namespace: route.Namespace, Parents: route.Spec.ParentRefs}
	g.Hostnames, g.Invalid = hostnames(route.Spec.Hostnames)
	return b.attach(c, g), true
}

func (b *build) attachTCP(c *derive.Ctx, _ string, route *gateway_v1.TCPRoute) (attachment, bool) {
	return b.attach(c, guest{Kind: kindTCPRoute, Namespace: route.Namespace, Parents: route.Spec.ParentRefs}), true
}

func (b *build) attachUDP(c *derive.Ctx, _ string, route *gateway_v1.UDPRoute) (attachment, bool) {
	return b.attach(c, guest{Kind: kindUDPRoute, Namespace: route.Namespace, Parents: route.Spec.ParentRefs}), true
}

func (b *build) attachTLS(c *derive.Ctx, _ string, route *gateway_v1.TLSRoute) (attachment, bool) {
	g := guest{Kind: kindTLSRoute, Namespace: route.Namespace, Parents: route.Spec.ParentRefs}
	g.Hostnames, g.Invalid = hostnames(route.Spec.Hostnames)
	return b.attach(c, g), true
}

func namespaceOf(id model.GatewayID) string {
	namespace, _ := snapshot.SplitName(string(id))
	return namespace
}
