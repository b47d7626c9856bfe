package compile

import (
	"fmt"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// setFeatures are the features of Gateway API that this file compiles.
var setFeatures = featureNames{
	features.SupportListenerSet,
}

// listenerSet is a ListenerSet as far as its own spec decides.
type listenerSet struct {
	section // of which its listeners are
	// Created is in seconds since 1970; the older ListenerSet goes first.
	Created int64
	// Problem is why the parentRef names no Gateway.
	Problem   *problem
	Listeners []listener // in order of the spec
}

// readSet derives what a ListenerSet wants.
func readSet(_ *derive.Ctx, key string, object *gateway_v1.ListenerSet) (listenerSet, bool) {
	ref := object.Spec.ParentRef
	to := target{
		Group: string(orElse(ref.Group, gatewayGroup)), Kind: string(orElse(ref.Kind, kindGateway)),
		Namespace: string(orElse(ref.Namespace, gateway_v1.Namespace(object.Namespace))), Name: string(ref.Name),
	}
	out := listenerSet{Gateway: model.GatewayID(to.name()), Set: key, Created: object.CreationTimestamp.Unix()}
	if !to.is(gatewayGroup, kindGateway) {
		out.Problem = problemf(verdict.UnsupportedParent, "spec.parentRef.kind", "%s of group %q: ListenerSets attach to Gateways only", to.Kind, to.Group)
		return out, true
	}
	specs := make([]gateway_v1.Listener, len(object.Spec.Listeners))
	for i, entry := range object.Spec.Listeners {
		specs[i] = gateway_v1.Listener(entry)
	}
	out.Listeners = readListeners(out.section, specs)
	return out, true
}

// hosting is what ListenerSets need to know of a Gateway: none runs again when its
// listeners change.
type hosting struct {
	Managed bool
	Allowed scope
	Problem *problem // why the Gateway is not accepted
}

func readHosting(_ *derive.Ctx, _ string, g gateway) (hosting, bool) {
	return hosting{Managed: g.Managed, Allowed: g.Allowed, Problem: g.Problem}, true
}

// allow reads which ListenerSets may attach. Where that cannot be read, none may.
func (g *gateway) allow(spec *gateway_v1.AllowedListeners) {
	if spec == nil || spec.Namespaces == nil {
		return
	}
	from := orElse(spec.Namespaces.From, gateway_v1.NamespacesFromNone)
	g.Warnings = append(g.Warnings, idleSelector("spec.allowedListeners.namespaces", from, spec.Namespaces.Selector)...)
	if from == gateway_v1.NamespacesFromNone {
		return
	}
	allowed, why := readScope("spec.allowedListeners.namespaces", &gateway_v1.RouteNamespaces{From: &from, Selector: spec.Namespaces.Selector}, namespaceOf(g.ID))
	if g.Allowed = allowed; why != nil {
		why.Message += ": no ListenerSet attaches"
		g.Warnings = append(g.Warnings, why)
	}
}

// admission is whether a ListenerSet attaches to its Gateway.
type admission struct {
	Gateway model.GatewayID
	// Managed tells that the Gateway is one of this controller, which owes the
	// ListenerSet a status.
	Managed bool
	// Problem is why it does not attach.
	Problem *problem
	// Selection is the namespace selection that lets it in, or empty.
	Selection string
}

// admitSet decides whether a ListenerSet attaches to its Gateway.
func (b *build) admitSet(c *derive.Ctx, _ string, set listenerSet) (admission, bool) {
	out := admission{Gateway: set.Gateway, Problem: set.Problem}
	if out.Problem != nil {
		return out, true
	}
	field, gateway := "spec.parentRef", gatewayRef(set.Gateway)
	at, exists := derive.Get(c, b.hostings, gateway.Name)
	out.Managed = at.Managed
	switch {
	case !exists:
		out.Problem = problemf(verdict.ParentNotFound, field, "%s does not exist", gateway).about(gateway)
	case !at.Managed:
		out.Problem = problemf(verdict.OtherController, field, "%s belongs to another controller, or to none", gateway).about(gateway)
	case at.Problem != nil:
		out.Problem = problemf(verdict.ParentNotAccepted, field, "%s is not accepted: %s", gateway, at.Problem.sentence()).about(gateway)
	default:
		out.letIn(b, c, at, set, gateway)
	}
	return out, true
}

func (a *admission) letIn(b *build, c *derive.Ctx, at hosting, set listenerSet, gateway store.Key) {
	namespace := set.referrer().Namespace
	yes, selection := b.takes(c, at.Allowed, namespace)
	if yes {
		a.Selection = selection
		return
	}
	a.Problem = problemf(verdict.NotAllowed, "spec.parentRef", "%s takes no ListenerSet from namespace %s: see its spec.allowedListeners", gateway, namespace).about(gateway)
}

// setGateway is the bucket of a ListenerSet that attaches.
func setGateway(_ string, a admission) []string {
	if a.Problem != nil {
		return nil
	}
	return []string{string(a.Gateway)}
}

// setRef is a ListenerSet in the view.
func setRef(name string) store.Key { return store.Key{Collection: kindListenerSet, Name: name} }

// setFinding decides over a ListenerSet.
func (b *build) setFinding(c *derive.Ctx, key string, object *gateway_v1.ListenerSet) (Finding, bool) {
	self := setRef(key)
	at, _ := derive.Get(c, b.admissions, key)
	if at.Problem != nil {
		finding := exclude(self, at.Problem)
		if at.Managed {
			status := conditions{generation: object.Generation}
			status.no(typeAccepted, at.Problem)
			status.no(typeProgrammed, at.Problem)
			finding.Status = &Status{Gateway: string(at.Gateway), Conditions: status.list}
		}
		return finding, true
	}
	p, _ := derive.Get(c, b.setParts, derive.JoinKey(string(at.Gateway), key))
	p = b.entered(c, p)
	steps, expires := p.steps(b.BindAddress)
	if len(p.Listeners) == 0 {
		steps = append(steps, problemf(verdict.ListenersNotValid, "spec.listeners", "there is no listener").step(verdict.WasExcluded))
	}
	finding := Finding{Object: self, Serves: p.serves(), Steps: steps, Expires: instant(expires)}
	finding.Status = &Status{Gateway: string(at.Gateway), Conditions: p.setConditions(object.Generation)}
	finding.Status.Listeners = b.listenerStatuses(c, p, object.Generation)
	return finding, true
}

// setConditions are those of a ListenerSet that attaches, without Programmed unless
// it is known to be false. It is accepted when some of its listeners serves.
func (p part) setConditions(generation int64) []condition {
	c := conditions{generation: generation}
	var causes, bad, good []string
	for i, l := range p.Listeners {
		if p.Outcomes[i].Serves && l.Closed == nil {
			good = append(good, l.Name)
			continue
		}
		bad = append(bad, l.Name)
		if why := p.fault(i); why != nil {
			causes = append(causes, why.sentence())
		}
	}
	switch {
	case len(good) == 0:
		why := problemf(verdict.ListenersNotValid, "spec.listeners", "no listener is valid: %s", strings.Join(causes, "; "))
		c.no(typeAccepted, why)
		c.no(typeProgrammed, why)
	case len(bad) > 0:
		c.yes(typeAccepted, string(gateway_v1.ListenerSetReasonListenersNotValid),
			fmt.Sprintf("these listeners do not serve, see their conditions: %s; these do: %s", strings.Join(bad, ", "), strings.Join(good, ", ")))
	default:
		c.yes(typeAccepted, string(gateway_v1.ListenerSetReasonAccepted), "the ListenerSet is served")
	}
	return c.list
}
