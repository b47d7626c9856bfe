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
	self := gatewayRef(model.GatewayID(key))
	s, managed := derive.Get(c, b.served, key)
	if !managed {
		wish, _ := derive.Get(c, b.wishes, key)
		return exclude(self, wish.Problem), true
	}
	own := b.entered(c, s.own())
	finding := s.verdict(self, own, b.BindAddress)
	finding.Status = &Status{Conditions: s.conditions(own), AttachedSets: s.attachedSets(), Sets: s.setNames(), SetResources: s.setResources()}
	finding.Status.Listeners = b.listenerStatuses(c, own, s.Generation)
	return finding, true
}

// verdict tells what of a Gateway serves.
func (s served) verdict(self store.Key, own part, byDefault netip.Addr) Finding {
	if !s.Accepted {
		return exclude(self, s.refusal(own))
	}
	steps := warnings(s.Warnings)
	if s.Unpresented != nil {
		steps = append(steps, s.Unpresented.step(verdict.Warning))
	}
	if s.DefaultScope != "" {
		steps = append(steps, ok(verdict.Compiled, "default Gateway of scope "+s.DefaultScope+": routes that ask for one attach without naming it, as far as its listeners let them"))
	}
	of, expires := own.steps(byDefault)
	steps = append(steps, of...)
	if n := s.attachedSets(); n > 0 {
		steps = append(steps, ok(verdict.Referenced, fmt.Sprintf("%d of %d ListenerSets that attach serve", n, len(s.Sets))))
	}
	finding := serve(self, steps...)
	finding.Expires = instant(expires)
	return finding
}

// refusal is why the whole Gateway is not accepted.
func (s served) refusal(own part) *problem {
	if s.Problem != nil {
		return s.Problem
	}
	var causes []string
	var related []store.Key
	for i := range own.Listeners {
		if why := own.fault(i); why != nil {
			causes = append(causes, why.sentence())
			related = append(related, why.Related...)
		}
	}
	return problemf(verdict.ListenersNotValid, "spec.listeners", "no listener is accepted: %s", strings.Join(causes, "; ")).about(related...)
}

// conditions of a Gateway, without Programmed unless it is known to be false.
func (s served) conditions(own part) []condition {
	c := conditions{generation: s.Generation}
	refused, accepted := own.census()
	switch {
	case !s.Accepted, !s.Valid:
		why := s.refusal(own)
		c.no(typeAccepted, why)
		c.no(typeProgrammed, problemf(verdict.Reason{Name: string(s.unprogrammed())}, why.Field, "%s", why.Message))
	case len(refused) > 0:
		c.yes(typeAccepted, string(gateway_v1.GatewayReasonListenersNotValid), census(refused, accepted))
		own.missed(&c)
	default:
		c.yes(typeAccepted, string(gateway_v1.GatewayReasonAccepted), "the Gateway is served")
		own.missed(&c)
	}
	s.unassigned(&c)
	if s.DefaultScope != "" {
		c.yes(typeDefaultGateway, typeDefaultGateway, "routes that ask for a default Gateway of scope "+s.DefaultScope+" attach without naming it")
	}
	if s.gateway.ClientCertificate != nil {
		c.judge(typeResolvedRefs, string(gateway_v1.GatewayReasonResolvedRefs), "every reference is resolved", s.Unpresented)
	}
	if s.insecure() {
		c.yes(string(gateway_v1.GatewayConditionInsecureFrontendValidationMode), string(gateway_v1.GatewayReasonConfigurationChanged), "clients are let in whose certificates cannot be verified")
	}
	return c.list
}

// attachedSets counts the ListenerSets that are accepted.
func (s served) attachedSets() int32 {
	serving := map[string]bool{}
	for i, l := range s.Listeners {
		if l.Set != "" && l.Closed == nil && s.Outcomes[i].Serves {
			serving[l.Set] = true
		}
	}
	return int32(len(serving))
}

// setNames are the ListenerSets that attach, whether or not they are accepted.
func (s served) setNames() []string {
	var names []string
	for _, set := range s.Sets {
		names = append(names, set.Name)
	}
	return distinct(names)
}

// setResources are the model listeners that ListenerSets serve by, in order.
func (s served) setResources() []string {
	var keys []string
	for i, l := range s.Listeners {
		if o := s.Outcomes[i]; l.Set != "" && o.Serves {
			keys = append(keys, o.resource(l))
		}
	}
	return distinct(keys)
}
