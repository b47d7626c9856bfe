package compile

import (
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// tcpFinding decides over a TCPRoute.
func (b *build) tcpFinding(c *derive.Ctx, key string, route *gateway_v1.TCPRoute) (Finding, bool) {
	a, _ := derive.Get(c, b.tcpAttachments, key)
	r, _ := derive.Get(c, b.streamRules, key)
	v := routeVerdict{rules: []rule{r.rule}, accepted: true, spec: route.Spec.CommonRouteSpec}
	serving := map[string]bool{}
	for _, p := range a.Parents {
		v.attachment.Parents = append(v.attachment.Parents, b.winOrLose(c, key, p, serving))
	}
	v.serves = len(serving) > 0
	v.attached = func(j joint) bool { return serving[sectionKey(j.Gateway, j.Name)] }
	if r.Extra != nil {
		v.rules = append(v.rules, rule{Label: "spec.rules[1]", Invalid: r.Extra})
	}
	finding := v.finding(store.Key{Collection: kindTCPRoute, Name: key})
	finding.Status = &Status{Parents: v.parents(route.Generation)}
	return finding, true
}

// winOrLose drops the listeners of a parent that an older TCPRoute has, and notes
// those that serve this one.
func (b *build) winOrLose(c *derive.Ctx, key string, p parent, serving map[string]bool) parent {
	var won []joint
	var lost *problem
	for _, j := range p.Joints {
		section := sectionKey(j.Gateway, j.Name)
		s, _ := derive.Get(c, b.streams, section)
		if s.Route != key {
			lost = first(lost, problemf(verdict.Conflicted, indexed("spec.parentRefs", p.Index),
				"listener %s of Gateway %s serves TCPRoute %s, which is older or first by name", j.Name, p.Gateway, s.Route).
				about(store.Key{Collection: kindTCPRoute, Name: s.Route}))
			continue
		}
		won = append(won, j)
		if s.Serves {
			serving[section] = true
		}
	}
	if len(won) == 0 {
		p.Problem = first(p.Problem, lost)
	} else if lost != nil {
		p.Notes = append(p.Notes, lost)
	}
	p.Joints = won
	return p
}
