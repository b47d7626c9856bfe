package compile

import (
	"fmt"
	"net/netip"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// gatewayFinding decides over a Gateway.
func (b *build) gatewayFinding(c *derive.Ctx, key string, _ *gateway_v1.Gateway) (Finding, bool) {
	self := store.Key{Collection: kindGateway, Name: key}
	s, managed := derive.Get(c, b.served, key)
	if !managed {
		wish, _ := derive.Get(c, b.wishes, key)
		return exclude(self, wish.Problem), true
	}
	finding := s.verdict(self, b.BindAddress)
	finding.Status = &Status{Conditions: s.conditions()}
	for i := range s.Listeners {
		finding.Status.Listeners = append(finding.Status.Listeners, b.listenerStatus(c, s, i))
	}
	return finding, true
}

// verdict tells what of a Gateway serves.
func (s served) verdict(self store.Key, byDefault netip.Addr) Finding {
	if !s.Accepted {
		return exclude(self, s.refusal())
	}
	var steps []verdict.Step
	for _, w := range s.Warnings {
		steps = append(steps, w.step(verdict.Warning))
	}
	if s.Unpresented != nil {
		steps = append(steps, s.Unpresented.step(verdict.Warning))
	}
	var expires int64
	for i, o := range s.Outcomes {
		steps = append(steps, s.listenerSteps(i, byDefault)...)
		if end := o.Chosen.Expires; end != 0 && (expires == 0 || end < expires) {
			expires = end
		}
	}
	finding := serve(self, steps...)
	finding.Expires = instant(expires)
	return finding
}

// refusal is why the whole Gateway is not accepted.
func (s served) refusal() *problem {
	if s.Problem != nil {
		return s.Problem
	}
	var causes []string
	var related []store.Key
	reason := verdict.ListenersNotValid
	for i, l := range s.Listeners {
		if why := first(l.Refused, s.Outcomes[i].Lost); why != nil {
			causes = append(causes, why.sentence())
			related = append(related, why.Related...)
		}
	}
	return problemf(reason, "spec.listeners", "no listener is accepted: %s", strings.Join(causes, "; ")).about(related...)
}

// listenerSteps are the decisions over one listener of an accepted Gateway.
func (s served) listenerSteps(i int, byDefault netip.Addr) []verdict.Step {
	l, o := s.Listeners[i], s.Outcomes[i]
	var steps []verdict.Step
	if why := first(l.Refused, o.Lost); why != nil {
		return append(steps, why.step(verdict.WasExcluded))
	}
	if o.Serves {
		steps = append(steps, ok(verdict.Compiled, fmt.Sprintf("listener %s serves %s on %s", l.Name, l.Protocol, whereBound(effective(o.Address, byDefault), l.Port))))
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
	for _, w := range append(o.Missed, l.Warnings...) {
		steps = append(steps, w.step(verdict.Warning))
	}
	return steps
}

// conditions of a Gateway, without Programmed unless it is known to be false.
func (s served) conditions() []condition {
	c := conditions{generation: s.Generation}
	switch {
	case !s.Accepted:
		why := s.refusal()
		c.no(typeAccepted, why)
		c.no(typeProgrammed, problemf(verdict.Reason{Name: string(gateway_v1.GatewayReasonInvalid)}, why.Field, "%s", why.Message))
	case s.flawed():
		c.yes(typeAccepted, string(gateway_v1.GatewayReasonListenersNotValid), s.census())
		s.missed(&c)
	default:
		c.yes(typeAccepted, string(gateway_v1.GatewayReasonAccepted), "the Gateway is served")
		s.missed(&c)
	}
	if s.gateway.ClientCertificate != nil {
		c.judge(typeResolvedRefs, string(gateway_v1.GatewayReasonResolvedRefs), "every reference is resolved", s.Unpresented)
	}
	if s.insecure() {
		c.yes(string(gateway_v1.GatewayConditionInsecureFrontendValidationMode), string(gateway_v1.GatewayReasonConfigurationChanged), "clients are let in whose certificates cannot be verified")
	}
	return c.list
}

// missed tells of an address that was asked for and cannot be used.
func (s served) missed(c *conditions) {
	for _, o := range s.Outcomes {
		if len(o.Missed) > 0 {
			c.set(typeProgrammed, conditionFalse, string(gateway_v1.GatewayReasonAddressNotUsable), o.Missed[0].Message)
			return
		}
	}
}

// flawed tells whether some listener of the Gateway is not accepted.
func (s served) flawed() bool {
	for i, l := range s.Listeners {
		if first(l.Refused, s.Outcomes[i].Lost) != nil {
			return true
		}
	}
	return false
}

// census names the listeners that are not accepted and those that are, as the
// specification asks of the condition's message.
func (s served) census() string {
	var refused, accepted []string
	for i, l := range s.Listeners {
		if first(l.Refused, s.Outcomes[i].Lost) != nil {
			refused = append(refused, l.Name)
		} else {
			accepted = append(accepted, l.Name)
		}
	}
	return fmt.Sprintf("not accepted, see their conditions: %s; accepted: %s", strings.Join(refused, ", "), strings.Join(accepted, ", "))
}

// listenerStatus is the status of one listener. Programmed is left to whoever
// hears of the proxies, unless the listener cannot be programmed at all.
func (b *build) listenerStatus(c *derive.Ctx, s served, i int) ListenerStatus {
	l, o := s.Listeners[i], s.Outcomes[i]
	key := sectionKey(s.ID, l.Name)
	status := ListenerStatus{
		Name: l.Name, SupportedKinds: l.Kinds,
		AttachedRoutes: b.attachedRoutes(c, key),
	}
	if o.Serves {
		status.Resource = listenerKey(model.Listener{Gateway: s.ID, Address: o.Address, Port: l.Port, Protocol: l.Protocol})
	}
	status.Conditions = l.conditions(s, o)
	return status
}

func (l listener) conditions(s served, o outcome) []condition {
	c := conditions{generation: s.Generation}
	refused := first(l.Refused, o.Lost)
	c.judge(typeAccepted, string(gateway_v1.ListenerReasonAccepted), "the listener is valid", conditionProblem(refused))
	if l.Conflict {
		c.yes(typeConflicted, l.Refused.Reason.Name, l.Refused.Message)
	} else {
		c.set(typeConflicted, conditionFalse, string(gateway_v1.ListenerReasonNoConflicts), "no listener of the Gateway conflicts with it")
	}
	unresolved := first(o.Chosen.Problem, o.Clients.Problem, l.InvalidKinds)
	c.judge(typeResolvedRefs, string(gateway_v1.ListenerReasonResolvedRefs), "every reference is resolved", unresolved)
	if len(l.Overlaps) > 0 && l.Refused == nil {
		c.yes(typeOverlapping, verdict.OverlappingHostnames.Name, "host names overlap with listeners "+strings.Join(l.Overlaps, ", "))
	}
	switch {
	case l.Conflict || refused != nil && refused.Reason.Name == verdict.PortUnavailable.Name:
		c.no(typeProgrammed, refused)
	case !o.Serves:
		why := first(refused, s.Problem, unresolved)
		c.set(typeProgrammed, conditionFalse, string(gateway_v1.ListenerReasonInvalid), why.sentence())
	}
	return c.list
}

// attachedRoutes counts the accepted routes of a listener.
func (b *build) attachedRoutes(c *derive.Ctx, section string) int32 {
	return int32(derive.Size(c, b.membersBySection, section) + derive.Size(c, b.streamsBySection, section))
}
