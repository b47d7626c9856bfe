package compile

import (
	"slices"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// tcpFinding decides over a TCPRoute.
func (b *build) tcpFinding(c *derive.Ctx, key string, route *gateway_v1.TCPRoute) (Finding, bool) {
	return b.streamFinding(c, tcpIdent+key, route.Spec.CommonRouteSpec, route.Generation)
}

// tlsFinding decides over a TLSRoute.
func (b *build) tlsFinding(c *derive.Ctx, key string, route *gateway_v1.TLSRoute) (Finding, bool) {
	return b.streamFinding(c, tlsIdent+key, route.Spec.CommonRouteSpec, route.Generation)
}

// udpFinding decides over a UDPRoute.
func (b *build) udpFinding(c *derive.Ctx, key string, route *gateway_v1.UDPRoute) (Finding, bool) {
	return b.streamFinding(c, udpIdent+key, route.Spec.CommonRouteSpec, route.Generation)
}

// streamFinding decides over a route of connections. One that another goes before
// everywhere is accepted and attached all the same, as the specification has it.
func (b *build) streamFinding(c *derive.Ctx, ident string, spec gateway_v1.CommonRouteSpec, generation int64) (Finding, bool) {
	a, _ := derive.Get(c, b.streamAttachments, ident)
	r, _ := derive.Get(c, b.streamRules, ident)
	r = r.at(onlyThrough(a))
	v := routeVerdict{attachment: a, rules: []rule{r.rule}, accepted: true, spec: spec}
	v.attachment.Parents = slices.Clone(a.Parents)
	serving := map[string]bool{}
	for i := range v.attachment.Parents {
		b.winOrLose(c, ident, &v.attachment.Parents[i], serving)
	}
	v.serves = len(serving) > 0
	v.attached = func(j joint) bool { return serving[j.key()] }
	if r.Extra != nil {
		v.rules = append(v.rules, rule{Label: "spec.rules[1]", Invalid: r.Extra})
	}
	finding := v.finding(routeRef(ident))
	finding.Status = &Status{Parents: v.parents(generation)}
	return finding, true
}

// onlyThrough tells that a route attaches to listeners only where TLS goes through.
func onlyThrough(a attachment) bool {
	some := false
	for _, p := range a.Parents {
		for _, j := range p.Joints {
			if !j.Passthrough {
				return false
			}
			some = true
		}
	}
	return some
}

// winOrLose leaves of a parent what no other route has, with a note of each loss,
// and records the listeners that serve this one.
func (b *build) winOrLose(c *derive.Ctx, ident string, p *parent, serving map[string]bool) {
	var won []joint
	p.Notes = slices.Clone(p.Notes)
	for _, j := range p.Joints {
		meetings := j.Meetings
		if !j.named() {
			meetings = []meeting{{}}
		}
		var mine []meeting
		for _, m := range meetings {
			at := streamPlace{Gateway: j.Gateway, Section: j.key(), Meeting: m}
			s, _ := derive.Get(c, b.streams, at.key())
			if s.Route != ident {
				p.Notes = append(p.Notes, problemf(verdict.Conflicted, p.field(),
					"%s serves %s, which goes before it by host name, age or name", at.where(j.section), s.Route).about(routeRef(s.Route)))
				continue
			}
			mine = append(mine, m)
			if s.Serves {
				serving[at.Section] = true
			}
		}
		if len(mine) == 0 {
			continue
		}
		if j.named() {
			j.Meetings = mine
		}
		won = append(won, j)
	}
	p.Joints = won
}
