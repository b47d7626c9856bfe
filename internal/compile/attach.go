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

// attachment is where a route attaches: one entry for each parentRef, then one for
// each default Gateway.
type attachment struct {
	Parents []parent
	// Defaulted tells that a default Gateway takes the route, whether or not it is named.
	Defaulted bool
	// Missing is why the route has no default Gateway though it asks for one.
	Missing *problem
	// Notes are default Gateways that add nothing to the parentRefs.
	Notes []*problem
}

// parent is what became of one parentRef, or of one default Gateway.
type parent struct {
	// Index into spec.parentRefs; of no meaning for a default Gateway.
	Index int
	// ByDefault tells that the route does not name the Gateway and asks for a default one.
	ByDefault bool
	// Managed tells that the parent is a Gateway of this controller, or a
	// ListenerSet of one, which owes the route a status.
	Managed bool
	Gateway model.GatewayID
	// Set is the parent where it is a ListenerSet, "namespace/name".
	Set string
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
	Wants   gateway_v1.CommonRouteSpec
}

// attach decides for each parent of a route.
func (b *build) attach(c *derive.Ctx, g guest) attachment {
	out := attachment{Parents: make([]parent, len(g.Wants.ParentRefs))}
	for i, ref := range g.Wants.ParentRefs {
		out.Parents[i] = b.attachTo(c, g, ref, parent{Index: i})
	}
	b.attachByDefault(c, g, &out)
	b.isolate(c, &out)
	return out
}

func (b *build) attachTo(c *derive.Ctx, g guest, ref gateway_v1.ParentReference, p parent) parent {
	to, field := parentTarget(ref, g.Namespace), p.field()
	var all []derive.Item[section]
	switch {
	case to.is(gatewayGroup, kindGateway):
		p.Gateway = model.GatewayID(to.name())
		if p.Managed, p.Problem = b.isHost(c, field, to); p.Problem != nil {
			return p
		}
		all = derive.Prefix(c, b.sections, to.name()+"|")
	case to.is(gatewayGroup, kindListenerSet):
		p.Set = to.name()
		if b.enter(c, field, to, &p); p.Problem != nil {
			return p
		}
		all = derive.Prefix(c, b.setSections, derive.JoinKey(string(p.Gateway), to.name()+"|"))
	default:
		p.Problem = problemf(verdict.UnsupportedParent, field+".kind", "%s of group %q: routes attach to Gateways and ListenerSets only", to.Kind, to.Group)
		return p
	}
	if p.Problem = g.Invalid; p.Problem != nil {
		return p
	}
	var named []section
	for _, item := range all {
		if names(ref, item.Value) {
			named = append(named, item.Value)
		}
	}
	b.join(c, g, ref, field, named, &p)
	return p
}

// isHost tells whether a Gateway is one of this controller, or why a route cannot attach.
func (b *build) isHost(c *derive.Ctx, field string, to target) (bool, *problem) {
	managed, exists := derive.Get(c, b.managed, to.name())
	switch {
	case !exists:
		return false, problemf(verdict.ParentNotFound, field, "Gateway %s does not exist", to.name()).about(to.key())
	case !managed:
		return false, problemf(verdict.OtherController, field, "Gateway %s belongs to another controller, or to none", to.name()).about(to.key())
	default:
		return true, nil
	}
}

// enter finds the Gateway of a ListenerSet, or why a route cannot attach to the set.
func (b *build) enter(c *derive.Ctx, field string, to target, p *parent) {
	at, exists := derive.Get(c, b.admissions, to.name())
	p.Gateway, p.Managed = at.Gateway, at.Managed
	switch {
	case !exists:
		p.Problem = problemf(verdict.ParentNotFound, field, "ListenerSet %s does not exist", to.name()).about(to.key())
	case at.Problem != nil && !at.Managed:
		p.Problem = problemf(at.Problem.Reason, field, "ListenerSet %s attaches to no Gateway of this controller: %s", to.name(), at.Problem.Message).about(to.key())
	case at.Problem != nil:
		p.Problem = problemf(verdict.NoMatchingParent, field, "ListenerSet %s is not accepted: %s", to.name(), at.Problem.Message).about(to.key())
	}
}

// join attaches a route to the listeners that it names, that let it in, and that
// have a host name in common with it: the first of these that leaves none is the
// problem.
func (b *build) join(c *derive.Ctx, g guest, ref gateway_v1.ParentReference, field string, named []section, p *parent) {
	if len(named) == 0 {
		p.Problem = problemf(verdict.NoMatchingParent, field, "%s has no listener%s", parentKey(*p), wanted(ref))
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
		p.Problem = problemf(verdict.NotAllowedByListeners, field, "no listener%s of %s allows %ss from namespace %s", wanted(ref), parentKey(*p), g.Kind, g.Namespace)
	case len(p.Joints) == 0:
		p.Problem = problemf(verdict.NoMatchingListenerHostname, "spec.hostnames", "no listener of %s that allows the route matches hostname %s", parentKey(*p), strings.Join(g.Hostnames, ", "))
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
func (b *build) isolate(c *derive.Ctx, a *attachment) {
	mine := map[string]bool{}
	for _, p := range a.Parents {
		for _, j := range p.Joints {
			mine[j.key()] = true
		}
	}
	for i := range a.Parents {
		p := &a.Parents[i]
		for k := range p.Joints {
			j := &p.Joints[k]
			j.Meetings = slices.DeleteFunc(slices.Clone(j.Meetings), func(m meeting) bool {
				owner := b.ownerOf(c, m.Domain, j.section)
				if owner.key() == j.key() {
					return false
				}
				if !mine[owner.key()] {
					p.Notes = append(p.Notes, problemf(verdict.ListenerIsolation, "spec.hostnames",
						"requests for %s on port %d belong to %s, to which the route does not attach", m.Domain, j.Port, owner.title()))
				}
				return true
			})
		}
	}
}

// ownerOf is the listener that requests for a domain belong to: of the accepted ones
// on the port, the one with the most specific host name that covers it, whichever
// object has it. A listener that is not accepted itself owns what it asks for.
func (b *build) ownerOf(c *derive.Ctx, domain string, self section) section {
	if !self.Accepted || !self.named() {
		return self
	}
	for name := range covering(hostOf(domain)) {
		if name == self.Hostname {
			break
		}
		item := ownerItem(self.portKey(), family(self.Protocol), name)
		if owner, ok := derive.Get(c, b.owners, derive.JoinKey(string(self.Gateway), item)); ok {
			return owner
		}
	}
	return self
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
	g := guest{Kind: kindHTTPRoute, Namespace: route.Namespace, Wants: route.Spec.CommonRouteSpec}
	g.Hostnames, g.Invalid = hostnames(route.Spec.Hostnames)
	return b.attach(c, g), true
}

func (b *build) attachTCP(c *derive.Ctx, _ string, route *gateway_v1.TCPRoute) (attachment, bool) {
	return b.attach(c, guest{Kind: kindTCPRoute, Namespace: route.Namespace, Wants: route.Spec.CommonRouteSpec}), true
}

func (b *build) attachUDP(c *derive.Ctx, _ string, route *gateway_v1.UDPRoute) (attachment, bool) {
	return b.attach(c, guest{Kind: kindUDPRoute, Namespace: route.Namespace, Wants: route.Spec.CommonRouteSpec}), true
}

func (b *build) attachTLS(c *derive.Ctx, _ string, route *gateway_v1.TLSRoute) (attachment, bool) {
	g := guest{Kind: kindTLSRoute, Namespace: route.Namespace, Wants: route.Spec.CommonRouteSpec}
	g.Hostnames, g.Invalid = hostnames(route.Spec.Hostnames)
	return b.attach(c, g), true
}

func namespaceOf(id model.GatewayID) string {
	namespace, _ := snapshot.SplitName(string(id))
	return namespace
}
