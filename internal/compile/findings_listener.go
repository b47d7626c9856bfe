package compile

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// part is what became of the listeners of one object: of a Gateway, or of a
// ListenerSet that attaches to it.
type part struct {
	// Problem is why the Gateway is not accepted.
	Problem   *problem
	Listeners []listener // in order of the object's spec
	Outcomes  []outcome
	// Shut is for each listener why it lets no request in, if it cannot ask the
	// services of its filters.
	Shut []*problem
}

// own is the part of the Gateway's own listeners, which come first.
func (s served) own() part {
	n := 0
	for n < len(s.Listeners) && s.Listeners[n].Set == "" {
		n++
	}
	return part{Problem: s.Problem, Listeners: s.Listeners[:n], Outcomes: s.Outcomes[:n]}
}

// setPartItems makes the part of each ListenerSet a value of its own, so that the
// verdict of one runs again only when its own part changes.
func setPartItems(_ *derive.Ctx, _ string, s served) []derive.Item[part] {
	parts := map[string]part{}
	for _, set := range s.Sets {
		parts[set.Name] = part{Problem: s.Problem}
	}
	for i, l := range s.Listeners {
		if l.Set != "" {
			p := parts[l.Set]
			p.Listeners, p.Outcomes = append(p.Listeners, l), append(p.Outcomes, s.Outcomes[i])
			parts[l.Set] = p
		}
	}
	var items []derive.Item[part]
	for name, p := range sortedMap(parts) {
		items = append(items, derive.Item[part]{Key: name, Value: p})
	}
	return items
}

// fault is why a listener is not accepted, or nil.
func (p part) fault(i int) *problem {
	return first(p.Listeners[i].Refused, p.Listeners[i].Closed, p.Outcomes[i].Lost, p.Listeners[i].Dark)
}

func (p part) serves() bool {
	for _, o := range p.Outcomes {
		if o.Serves {
			return true
		}
	}
	return false
}

// steps are the decisions over all listeners, and the first end of a certificate.
func (p part) steps(byDefault netip.Addr) (steps []verdict.Step, expires int64) {
	for i, o := range p.Outcomes {
		steps = append(steps, p.listenerSteps(i, byDefault)...)
		if end := o.Chosen.Expires; end != 0 && (expires == 0 || end < expires) {
			expires = end
		}
	}
	return steps, expires
}

// listenerSteps are the decisions over one listener of an accepted object.
func (p part) listenerSteps(i int, byDefault netip.Addr) []verdict.Step {
	l, o := p.Listeners[i], p.Outcomes[i]
	var steps []verdict.Step
	if why := first(l.Refused, o.Lost); why != nil {
		return append(steps, why.step(verdict.WasExcluded))
	}
	if o.Serves {
		steps = append(steps, ok(verdict.Compiled, fmt.Sprintf("listener %s serves %s on %s", l.Name, l.Protocol, whereBound(effective(o.Address, byDefault), l.Port))))
	}
	for _, why := range []*problem{l.Closed, l.Extension, p.Shut[i]} {
		if why != nil {
			steps = append(steps, why.step(verdict.WasExcluded))
		}
	}
	if why := o.Chosen.Problem; why != nil {
		outcome := verdict.Warning
		if !o.Serves {
			outcome = verdict.WasExcluded
		}
		steps = append(steps, why.step(outcome))
	}
	if why := o.Clients.Problem; why != nil {
		steps = append(steps, why.step(verdict.Warning))
	}
	if l.InvalidKinds != nil {
		steps = append(steps, l.InvalidKinds.step(verdict.Warning))
	}
	return slices.Concat(steps, warnings(o.Missed), warnings(l.Warnings))
}

// missed tells of an address that was asked for and cannot be used.
func (p part) missed(c *conditions) {
	for _, o := range p.Outcomes {
		if len(o.Missed) > 0 {
			c.set(typeProgrammed, conditionFalse, string(gateway_v1.GatewayReasonAddressNotUsable), o.Missed[0].Message)
			return
		}
	}
}

// census names the listeners that are not accepted and those that are.
func (p part) census() (refused, accepted []string) {
	for i, l := range p.Listeners {
		if p.fault(i) != nil {
			refused = append(refused, l.Name)
		} else {
			accepted = append(accepted, l.Name)
		}
	}
	return refused, accepted
}

// census is what the specification asks of the condition's message.
func census(refused, accepted []string) string {
	return fmt.Sprintf("not accepted, see their conditions: %s; accepted: %s", strings.Join(refused, ", "), cmp.Or(strings.Join(accepted, ", "), "none"))
}

// listenerStatuses are the status of each listener. Programmed is left to whoever
// hears of the proxies, unless the listener cannot be programmed at all.
func (b *build) listenerStatuses(c *derive.Ctx, p part, generation int64) []ListenerStatus {
	var out []ListenerStatus
	for i, l := range p.Listeners {
		o := p.Outcomes[i]
		status := ListenerStatus{
			Name: l.Name, SupportedKinds: l.Kinds,
			AttachedRoutes: b.attachedRoutes(c, l.key()),
		}
		if o.Serves && l.Closed == nil {
			status.Resource = o.resource(l)
		}
		status.Conditions = p.listenerConditions(i, generation)
		out = append(out, status)
	}
	return out
}

// resource is the model listener that serves a listener.
func (o outcome) resource(l listener) string {
	return listenerKey(model.Listener{Gateway: l.Gateway, Address: o.Address, Port: l.Port, Protocol: l.Protocol})
}

func (p part) listenerConditions(i int, generation int64) []condition {
	l, o := p.Listeners[i], p.Outcomes[i]
	c := conditions{generation: generation}
	refused := first(l.Refused, l.Closed, o.Lost)
	c.judge(typeAccepted, string(gateway_v1.ListenerReasonAccepted), "the listener is valid", refused)
	if l.Conflict {
		c.yes(typeConflicted, l.Refused.Reason.Name, l.Refused.Message)
	} else {
		c.set(typeConflicted, conditionFalse, string(gateway_v1.ListenerReasonNoConflicts), "no listener of the Gateway conflicts with it")
	}
	unresolved := first(o.Chosen.Problem, o.Clients.Problem, l.Extension, p.Shut[i], l.InvalidKinds)
	c.judge(typeResolvedRefs, string(gateway_v1.ListenerReasonResolvedRefs), "every reference is resolved", unresolved)
	if len(l.Overlaps) > 0 && l.Refused == nil {
		c.yes(typeOverlapping, verdict.OverlappingHostnames.Name, "host names overlap with listeners "+l.overlapping())
	}
	switch {
	case l.Conflict || refused != nil && refused.Reason.Name == verdict.PortUnavailable.Name:
		c.no(typeProgrammed, refused)
	case !o.Serves, l.Closed != nil:
		why := first(refused, p.Problem, unresolved)
		c.set(typeProgrammed, conditionFalse, string(gateway_v1.ListenerReasonInvalid), why.sentence())
	}
	return c.list
}

// attachedRoutes counts the accepted routes of a listener.
func (b *build) attachedRoutes(c *derive.Ctx, section string) int32 {
	return int32(derive.Size(c, b.membersBySection, section) + derive.Size(c, b.streamsBySection, section))
}

// manyOverlaps is how many listeners are named.
const manyOverlaps = 8

// overlapping names the listeners that overlap; those of the same object by name.
func (l listener) overlapping() string {
	var names []string
	for i, other := range l.Overlaps {
		switch {
		case i == manyOverlaps:
			names = append(names, fmt.Sprintf("and %d more", len(l.Overlaps)-i))
		case i > manyOverlaps:
		case other.Set == l.Set:
			names = append(names, other.Name)
		default:
			names = append(names, other.Name+" of "+other.holder().String())
		}
	}
	return strings.Join(names, ", ")
}
