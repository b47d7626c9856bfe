package pipeline

import (
	"cmp"
	"slices"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Overview is the state of the instance in one page.
func (r *Reporter) Overview() admin.Overview {
	at := r.board.current.Load()
	out := admin.Overview{
		Version: r.identity.Version, Envoy: r.identity.Envoy, Since: r.identity.Since,
		Revision: uint64(at.observed.Revision()), Objects: map[string]int{},
		Gateways: []admin.GatewayOverview{}, Attention: []admin.Attention{},
	}
	for _, key := range r.keys(at, "") {
		j := r.join(at, key)
		v := j.verdict(r.now())
		out.Objects[string(v.State)]++
		if a, ok := r.attention(j, v); ok {
			out.Attention = append(out.Attention, a)
		}
		if key.Collection == "Gateway" && j.ours() {
			out.Gateways = append(out.Gateways, r.gateway(at, key, v))
		}
	}
	out.Attention = append(out.Attention, r.nameless(at)...)
	slices.SortStableFunc(out.Attention, func(a, b admin.Attention) int { return cmp.Compare(rank(a.State), rank(b.State)) })
	return out
}

// ours tells that the object has a status of this controller.
func (j join) ours() bool {
	_, has := j.reporter.decided(j.at, j.key)
	return has
}

// rank orders states from the one that needs an operator most.
func rank(s verdict.State) int {
	return slices.Index([]verdict.State{verdict.Rejected, verdict.Partial, verdict.Pending, verdict.Excluded, verdict.Serving}, s)
}

// attention is what an operator should know of an object: it does not serve, or
// not in full, or with a warning. Objects that nothing refers to are no news.
func (r *Reporter) attention(j join, v verdict.Verdict) (admin.Attention, bool) {
	step, ok := worst(v.Steps)
	if !ok || v.State == verdict.Excluded && quiet(step) {
		return admin.Attention{}, false
	}
	a := admin.Attention{
		Kind: v.Object.Kind, Name: j.key.Name, State: v.State, Reason: step.Reason, Field: step.Field, Message: step.Message,
		More: others(v.Steps, step),
	}
	if origin, ok := r.board.origin(j.key); ok {
		a.Where = place(origin)
	}
	if len(j.refused) > 0 {
		a.Where = place(j.refused[0].Origin)
		a.Serves, a.Since = r.kept(j.at, j.refused[0]), r.board.since(j.key)
	}
	if j.rejection != nil {
		a.Serves, a.Since = r.serves(j.at, j.key, *j.rejection), r.board.since(j.key)
	}
	return a, true
}

// quiet reasons say that an object is merely unused.
func quiet(s verdict.Step) bool { return s.Reason == verdict.NotReferenced.Name }

// worst is the step that explains a state best.
func worst(steps []verdict.Step) (verdict.Step, bool) {
	order := []verdict.Outcome{verdict.WasRejected, verdict.WasExcluded, verdict.StillPending, verdict.Warning}
	for _, outcome := range order {
		for _, s := range steps {
			if s.Outcome == outcome {
				return s, true
			}
		}
	}
	return verdict.Step{}, false
}

// others counts the problems of an object besides the one that is told. What keeps
// serving instead is no problem of its own.
func others(steps []verdict.Step, told verdict.Step) int {
	n := 0
	for _, s := range steps {
		problem := s.Outcome == verdict.WasRejected || s.Outcome == verdict.WasExcluded || s.Outcome == verdict.Warning
		if problem && !inForceReason(s.Reason) {
			n++
		}
	}
	if told.Outcome != verdict.StillPending {
		n--
	}
	return n
}

// nameless are refused documents whose object could not be read.
func (r *Reporter) nameless(at *published) []admin.Attention {
	var out []admin.Attention
	for _, f := range r.board.findings() {
		if f.Object.Name != "" {
			continue // it is among the objects
		}
		since, _ := r.board.refusedSince(f)
		out = append(out, admin.Attention{
			Since: since, Kind: f.Object.Collection, Name: f.Object.Name, State: verdict.Rejected, Reason: f.Step.Reason,
			Field: f.Step.Field, Message: f.Step.Message, Where: place(f.Origin), Serves: r.kept(at, f),
		})
	}
	return out
}

func (r *Reporter) gateway(at *published, key store.Key, v verdict.Verdict) admin.GatewayOverview {
	out := admin.GatewayOverview{
		Name: key.Name, State: v.State, Acknowledged: v.Proxies.Acknowledged, Proxies: v.Proxies.Total,
		Listeners: []admin.ListenerOverview{},
	}
	out.Listeners = append(out.Listeners, r.listeners(at, key, "")...)
	for _, set := range r.setsOf(at, model.GatewayID(key.Name)) {
		out.Listeners = append(out.Listeners, r.listeners(at, set, set.Name+"/")...)
	}
	return out
}

// listeners are those of a Gateway or a ListenerSet, whose names follow a prefix.
func (r *Reporter) listeners(at *published, key store.Key, prefix string) []admin.ListenerOverview {
	value, _ := at.observed.Get(key)
	var specs []gateway_v1.Listener
	switch object := value.(type) {
	case *gateway_v1.Gateway:
		specs = object.Spec.Listeners
	case *gateway_v1.ListenerSet:
		for _, entry := range object.Spec.Listeners {
			specs = append(specs, gateway_v1.Listener(entry))
		}
	}
	complete, _ := r.status(at, key)
	var out []admin.ListenerOverview
	for _, l := range complete.Listeners {
		one := r.listener(at, specs, l)
		one.Name = prefix + one.Name
		out = append(out, one)
	}
	return out
}

func (r *Reporter) listener(at *published, specs []gateway_v1.Listener, l verdict.ListenerStatus) admin.ListenerOverview {
	out := admin.ListenerOverview{Name: l.Name, AttachedRoutes: l.AttachedRoutes}
	for _, spec := range specs {
		if string(spec.Name) == l.Name {
			out.Protocol = string(spec.Protocol)
			if spec.Hostname != nil {
				out.Hostname = string(*spec.Hostname)
			}
		}
	}
	if served, ok := derive.Lookup(at.state, r.graph.Compiled.Model.Listeners, l.Resource); ok {
		out.Address = r.bound(served).String()
	}
	for _, c := range l.Conditions {
		if c.Type == string(gateway_v1.ListenerConditionProgrammed) {
			out.Programmed = c.Status == meta_v1.ConditionTrue
			out.Reason, out.Message = c.Reason, c.Message
		}
	}
	return out
}
