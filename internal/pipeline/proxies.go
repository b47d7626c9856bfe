package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// belief is what the proxies that need some resources say of them.
type belief struct {
	verdict.Proxies
	// took is from the last publication to the last acknowledgement; 0 when unknown.
	took time.Duration
}

// belief joins the ledger over all groups that the resources are for.
func (r *Reporter) belief(resources []scoped) belief {
	out := belief{Refused: []verdict.Refusal{}}
	groups := map[string][]xdsserve.Name{}
	for _, s := range resources {
		groups[s.Group] = append(groups[s.Group], s.Name)
	}
	shared := groups[""]
	delete(groups, "")
	for _, group := range sortedKeys(groups) {
		out = r.addGroup(out, group, append(groups[group], shared...))
	}
	if len(groups) == 0 && len(shared) > 0 {
		for _, id := range r.gatewayIDs() {
			out = r.addGroup(out, id, shared)
		}
	}
	return out
}

func (r *Reporter) addGroup(sum belief, group string, names []xdsserve.Name) belief {
	standing := r.proxiesOf.Standing(group, names...)
	if !standing.At.IsZero() {
		sum.took = max(sum.took, standing.At.Sub(standing.Published))
	}
	sum.Acknowledged += standing.Acknowledged
	sum.Total += standing.Total
	for _, refusal := range standing.Refusals {
		sum.Refused = append(sum.Refused, verdict.Refusal{
			Proxy: refusal.Proxy, Resource: verdict.Resource{Type: ShortType(refusal.Type), Name: refusal.Name.Name}, Message: strings.TrimSpace(refusal.Message),
		})
	}
	return sum
}

func (r *Reporter) gatewayIDs() []string {
	var ids []string
	for id := range derive.Items(r.board.current.Load().state, r.graph.Compiled.Model.Gateways) {
		ids = append(ids, id)
	}
	return ids
}

func publishSteps(p belief) []verdict.Step {
	var steps []verdict.Step
	for _, refusal := range p.Refused {
		steps = append(steps, refusedStep(refusal))
	}
	switch {
	case p.Total == 0:
		return append(steps, verdict.AwaitingProxies.Step(verdict.Publish, verdict.StillPending, "no proxy is connected"))
	case p.Acknowledged < p.Total && len(p.Refused) == 0:
		return append(steps, verdict.AwaitingProxies.Step(verdict.Publish, verdict.StillPending,
			fmt.Sprintf("acknowledged by %d of %d proxies", p.Acknowledged, p.Total)))
	case p.Acknowledged == p.Total:
		return append(steps, verdict.Acknowledged.Step(verdict.Publish, verdict.OK,
			fmt.Sprintf("acknowledged by %d of %d proxies%s", p.Acknowledged, p.Total, in(p.took))))
	default:
		return steps
	}
}

// refusedStep explains one refusal in words of ours where we have them.
func refusedStep(r verdict.Refusal) verdict.Step {
	if cannotBind(r.Message) {
		return verdict.PortUnavailable.Step(verdict.Publish, verdict.WasRejected, unbound("listener "+r.Resource.Name, r.Message))
	}
	return verdict.RefusedByProxy.Step(verdict.Publish, verdict.WasRejected,
		fmt.Sprintf("proxy %s refused %s %s and keeps the previous one: %s", r.Proxy, r.Resource.Type, r.Resource.Name, r.Message))
}

// in says how long a change took. A proxy that came back later acknowledged
// later: such times say nothing of the change.
func in(took time.Duration) string {
	if took <= 0 || took > time.Minute {
		return ""
	}
	return fmt.Sprintf(" in %s", max(took.Round(time.Millisecond), time.Millisecond))
}

// acceptedSince says since when the accepted revision of an object is in force.
func (r *Reporter) acceptedSince(key store.Key, now time.Time) string {
	since, ok := r.board.acceptedAt(key)
	if !ok {
		return "accepted"
	}
	return fmt.Sprintf("accepted %s ago", now.Sub(since).Round(time.Second))
}

// Views returns what each connected proxy believes, and every Gateway without one.
func (r *Reporter) Views() []admin.View {
	now := r.now()
	var out []admin.View
	for id := range derive.Items(r.board.current.Load().state, r.graph.Compiled.Model.Gateways) {
		beliefs := r.proxiesOf.Ledger(id)
		if len(beliefs) == 0 {
			out = append(out, admin.View{Gateway: id, Refused: []verdict.Refusal{}})
		}
		for _, b := range beliefs {
			out = append(out, view(b, r.board.behindSince(b, now), now))
		}
	}
	return out
}

func view(b xdsserve.Belief, since time.Time, now time.Time) admin.View {
	v := admin.View{
		Proxy: b.Proxy, Gateway: b.Group, Connected: true, Since: b.Since,
		Behind: b.Behind, Refused: []verdict.Refusal{},
	}
	if b.Behind > 0 && !since.IsZero() {
		v.BehindFor = now.Sub(since)
	}
	for _, refusal := range b.Refused {
		v.Refused = append(v.Refused, verdict.Refusal{
			Proxy: b.Proxy, Resource: verdict.Resource{Type: ShortType(refusal.Type), Name: refusal.Name.Name}, Message: refusal.Message,
		})
	}
	slices.SortFunc(v.Refused, func(a, b verdict.Refusal) int {
		return store.Key{Collection: a.Resource.Type, Name: a.Resource.Name}.Compare(store.Key{Collection: b.Resource.Type, Name: b.Resource.Name})
	})
	return v
}
