package xdsserve

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	status_v3 "google.golang.org/genproto/googleapis/rpc/status"
)

// proxyModel behaves as Envoy was measured to: it applies responses in order,
// withholds the answers for clusters while one is warming, loses endpoints that
// come before their cluster, drops them when the cluster changes, and applies a
// refused response in part, recording nothing of it.
type proxyModel struct {
	refuses func(Resource) bool
	logf    func(string, ...any)
	chance  func() bool // decides what the measurements leave open

	applied  [numKinds]map[string]Resource
	recorded [numKinds]map[string]string
	asked    [numKinds]map[string]bool // named subscriptions
	warming  map[string]bool           // clusters, by name; true until warm
	serving  map[string]bool           // clusters that were warm once: the earlier version serves meanwhile
	fed      map[string]bool           // clusters with endpoints since their last change

	in         []*discovery_v3.DeltaDiscoveryResponse
	out        []*discovery_v3.DeltaDiscoveryRequest
	withheld   []*discovery_v3.DeltaDiscoveryRequest
	faults     []string
	subscribed bool              // to any endpoints, ever
	scoped     bool              // whether it asks for scopes
	stuck      map[string]string // versions of scopes and secrets that it takes for applied
	strict     bool              // also demand that what a table uses is there
	excused    map[string]bool   // tables that went although a cluster was not warm
	bodies     map[string]Resource
}

func newProxyModel(chance func() bool) *proxyModel {
	p := &proxyModel{chance: chance, bodies: map[string]Resource{}}
	p.restart()
	return p
}

// restart is kill -9: everything is gone.
func (p *proxyModel) restart() {
	for k := range numKinds {
		p.applied[k], p.recorded[k], p.asked[k] = map[string]Resource{}, map[string]string{}, map[string]bool{}
	}
	p.subscribed, p.scoped, p.stuck = false, false, map[string]string{}
	p.warming, p.serving, p.fed = map[string]bool{}, map[string]bool{}, map[string]bool{}
	p.connect()
}

// connect begins a new stream: the first requests of all kinds.
func (p *proxyModel) connect() {
	p.in, p.out, p.withheld = nil, nil, nil
	p.excused = map[string]bool{}
	p.warmAll() // no answer is left that could tell
	for _, k := range p.order() {
		names := slices.Sorted(maps.Keys(p.asked[k]))
		if !p.wild(k) && len(names) == 0 {
			continue
		}
		p.out = append(p.out, &discovery_v3.DeltaDiscoveryRequest{
			TypeUrl: string(k.Type()), ResourceNamesSubscribe: names,
			InitialResourceVersions: maps.Clone(p.recorded[k]),
		})
	}
}

// order is one of the orders in which a proxy that connects again may ask.
func (p *proxyModel) order() []kind {
	kinds := []kind{clusters, endpoints, scopes, listeners, tables, secrets}
	for i := len(kinds) - 1; i > 0; i-- {
		if p.chance() {
			kinds[i], kinds[i-1] = kinds[i-1], kinds[i]
		}
	}
	return kinds
}

func (p *proxyModel) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// process takes one response.
func (p *proxyModel) process() bool {
	if len(p.in) == 0 {
		return false
	}
	resp := p.in[0]
	p.in = p.in[1:]
	p.logf("process %s", describe(resp))
	k, _ := kindOf(Type(resp.GetTypeUrl()))
	reply := &discovery_v3.DeltaDiscoveryRequest{TypeUrl: resp.GetTypeUrl(), ResponseNonce: resp.GetNonce()}
	if k == endpoints && !p.subscribed {
		return true // dropped, and not even answered
	}
	var rs []Resource
	for _, w := range resp.GetResources() {
		rs = append(rs, p.decode(w))
	}
	bad := slices.IndexFunc(rs, p.objects)
	if bad >= 0 {
		reply.ErrorDetail = &status_v3.Status{Message: "refused " + rs[bad].Name.Name}
		p.applyPart(k, rs, resp.GetRemovedResources())
	} else {
		p.applyAll(k, rs, resp.GetRemovedResources())
	}
	p.resubscribe()
	if k == clusters {
		p.withheld = append(p.withheld, reply)
	} else {
		p.out = append(p.out, reply)
	}
	p.thaw()
	return true
}

// decode returns the resource of a body: one that was published, or one mixed of
// the parts of two.
func (p *proxyModel) decode(w *discovery_v3.Resource) Resource {
	body := w.GetResource().GetValue()
	if r, published := p.bodies[string(body)]; published {
		return r
	}
	r := Resource{Name: Name{Type(w.GetResource().GetTypeUrl()), w.GetName()}, Version: w.GetVersion(), Body: body}
	for _, part := range strings.Split(string(body), "\n")[1:] {
		r.Uses = append(r.Uses, Name{Cluster, part[strings.LastIndex(part, " ")+1:]})
	}
	return r
}

func (p *proxyModel) applyAll(k kind, rs []Resource, removed []string) {
	for _, name := range removed {
		p.remove(k, name)
		if k == endpoints {
			p.fed[name] = true
		}
	}
	for _, r := range rs {
		if p.takes(k, r.Name.Name) {
			p.recorded[k][r.Name.Name] = r.Version
			p.apply(k, r)
		}
	}
}

// applyPart applies any part of what is good and records nothing.
func (p *proxyModel) applyPart(k kind, rs []Resource, removed []string) {
	if k == scopes {
		p.applyNone(rs)
		return
	}
	if len(rs) > 1 || len(removed) > 0 {
		for _, name := range removed {
			if p.chance() {
				p.remove(k, name)
			}
		}
	}
	for _, r := range rs {
		if k == endpoints {
			p.fed[r.Name.Name] = true // a refusal ends the wait for endpoints, too
		}
		if k == secrets && p.takes(k, r.Name.Name) && p.objects(r) {
			p.stuck[r.Name.Name] = r.Version
		}
		if !p.objects(r) && p.takes(k, r.Name.Name) && p.chance() {
			p.apply(k, r)
		}
	}
}

// objects reports whether it refuses a resource when it gets it: not what it takes for
// applied, and every secret without content.
func (p *proxyModel) objects(r Resource) bool {
	if r.Type == Secret && p.stuck[r.Name.Name] == r.Version {
		return false
	}
	return p.refuses(r) || r.Version == "blank"
}

// applyNone is what becomes of refused scopes: those before the bad one are stuck.
func (p *proxyModel) applyNone(rs []Resource) {
	for _, r := range rs {
		if p.refuses(r) {
			return
		}
		p.stuck[r.Name.Name] = r.Version
	}
}

// wild reports whether it takes whatever comes of a kind.
func (p *proxyModel) wild(k kind) bool { return k.wild() && (k != scopes || p.scoped) }

func (p *proxyModel) takes(k kind, name string) bool { return p.wild(k) || p.asked[k][name] }

func (p *proxyModel) apply(k kind, r Resource) {
	name := r.Name.Name
	if k.sticks() {
		if p.stuck[name] == r.Version {
			return
		}
		delete(p.stuck, name)
	}
	old, had := p.applied[k][name]
	if k == tables || k == scopes {
		p.checkMade(r, old)
	}
	p.applied[k][name] = r
	switch {
	case k == clusters && (!had || old.Version != r.Version):
		p.fed[name] = false
		p.warming[name] = r.SlowToWarm
	case k == endpoints:
		p.fed[name] = true
	}
}

// checkMade demands that what a table or scope begins to use is there and ready.
func (p *proxyModel) checkMade(r, old Resource) {
	if !p.strict {
		return
	}
	for _, u := range r.Uses {
		_, there := p.applied[clusters][u.Name]
		switch {
		case slices.Contains(old.Uses, u):
		case !there:
			p.fault("table %s came before its cluster %s", r.Name.Name, u.Name)
		case !p.serving[u.Name] && !p.fed[u.Name]:
			p.fault("table %s came before the endpoints of %s", r.Name.Name, u.Name)
		case !p.serving[u.Name] && !p.excused[r.Name.Name]:
			p.fault("table %s came before %s was warm", r.Name.Name, u.Name)
		}
	}
}

func (p *proxyModel) remove(k kind, name string) {
	delete(p.recorded[k], name)
	if k == clusters {
		for _, l := range p.applied[listeners] {
			for _, u := range l.Uses {
				if t := p.applied[tables][u.Name]; u.Type == Routes && slices.Contains(t.Uses, Name{Cluster, name}) {
					p.fault("cluster %s removed while table %s uses it", name, u.Name)
				}
			}
		}
		for _, sc := range p.applied[scopes] {
			if slices.Contains(sc.Uses, Name{Cluster, name}) {
				p.fault("cluster %s removed while scope %s uses it", name, sc.Name.Name)
			}
		}
		delete(p.warming, name)
		delete(p.serving, name)
		delete(p.fed, name)
	}
	if _, serves := p.applied[scopes][name]; k == scopes && serves && strings.HasSuffix(name, "/") && p.looksUp(name) {
		p.fault("the rest %s removed while a listener uses it", name)
	}
	if k.wild() {
		delete(p.applied[k], name)
	}
	if k == scopes {
		delete(p.stuck, name)
	}
}

// looksUp reports whether a listener looks routes up in a set.
func (p *proxyModel) looksUp(rest string) bool {
	for _, l := range p.applied[listeners] {
		if slices.Contains(l.Uses, Name{Scopes, rest}) {
			return true
		}
	}
	return false
}

// routesUse reports whether a table or scope that the proxy has uses a cluster.
func (p *proxyModel) routesUse(cluster string) bool {
	for name, t := range p.applied[tables] {
		if p.asked[tables][name] && slices.Contains(t.Uses, Name{Cluster, cluster}) {
			return true
		}
	}
	for _, sc := range p.applied[scopes] {
		if slices.Contains(sc.Uses, Name{Cluster, cluster}) {
			return true
		}
	}
	return false
}

// rescope asks for all scopes with the first listener that has any. What follows
// the last one, after the drain time, is not modelled.
func (p *proxyModel) rescope() {
	if p.looksUp("x/") && !p.scoped {
		p.scoped = true
		p.out = append(p.out, &discovery_v3.DeltaDiscoveryRequest{TypeUrl: string(Scopes)})
	}
}

// resubscribe asks for what is used and no longer for what is not.
func (p *proxyModel) resubscribe() {
	p.rescope()
	var want [numKinds]map[string]bool
	for _, k := range []kind{secrets, endpoints, tables} {
		want[k] = map[string]bool{}
	}
	for _, k := range []kind{clusters, listeners} {
		for _, r := range p.applied[k] {
			for _, u := range r.Uses {
				if uk, _ := kindOf(u.Type); uk != scopes {
					want[uk][u.Name] = true
				}
			}
		}
	}
	for _, k := range []kind{secrets, endpoints, tables} {
		req := &discovery_v3.DeltaDiscoveryRequest{TypeUrl: string(k.Type())}
		for _, name := range slices.Sorted(maps.Keys(want[k])) {
			if !p.asked[k][name] {
				req.ResourceNamesSubscribe = append(req.ResourceNamesSubscribe, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(p.asked[k])) {
			if !want[k][name] {
				req.ResourceNamesUnsubscribe = append(req.ResourceNamesUnsubscribe, name)
				delete(p.applied[k], name)
				delete(p.recorded[k], name)
				delete(p.stuck, name)
			}
		}
		p.asked[k] = want[k]
		p.subscribed = p.subscribed || (k == endpoints && len(want[k]) > 0)
		if len(req.ResourceNamesSubscribe)+len(req.ResourceNamesUnsubscribe) > 0 {
			p.out = append(p.out, req)
		}
	}
}

// thaw sends the answers for clusters unless one is warming.
func (p *proxyModel) thaw() {
	p.serve()
	for name, c := range p.applied[clusters] {
		if p.warming[name] || (!p.fed[name] && len(c.Uses) > 0) {
			return
		}
	}
	p.out = append(p.out, p.withheld...)
	p.withheld = nil
}

// warm ends the warming of all slow clusters.
func (p *proxyModel) warm() {
	p.warmAll()
	p.thaw()
}

func (p *proxyModel) warmAll() {
	clear(p.warming)
	p.serve()
}

// timeOut ends the wait for endpoints that do not come, as after 15 s.
func (p *proxyModel) timeOut() {
	for name := range p.applied[clusters] {
		p.fed[name] = true
	}
}

// serve notes which clusters are ready.
func (p *proxyModel) serve() {
	for name, c := range p.applied[clusters] {
		if !p.warming[name] && (p.fed[name] || len(c.Uses) == 0) {
			p.serving[name] = true
		}
	}
}
