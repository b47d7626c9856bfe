package compile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// request is what a client asks for.
type request struct {
	Host, Path, Method, Header, Query string
}

// TestRequestsAreAnsweredAsSpecified compares the route tables with a reading of
// the specification that knows no tables: it looks at all objects for each request.
func TestRequestsAreAnsweredAsSpecified(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, Options{})
		w.apply(classYAML, guardYAML)
		all := drawHTTPListeners(rt)
		shared := shareOut(rt, all)
		w.apply(shared.documents...)
		var routes []*gateway_v1.HTTPRoute
		for i := range rapid.IntRange(1, 4).Draw(rt, "routes") {
			edits := decode(t, drawRedirects(rt, i))
			routes = append(routes, edits[0].Value.(*gateway_v1.HTTPRoute))
			w.edit(edits...)
		}
		listeners := decode(t, gatewayYAML(all...))[0].Value.(*gateway_v1.Gateway).Spec.Listeners
		for range 20 {
			r := drawRequest(rt)
			want, got := passing(listeners, r, shared.specified(listeners, routes, r)), w.answers("shop/edge/80", r)
			if want != got {
				rt.Fatalf("%+v is answered by %q, and should be by %q\n%s", r, got, want, strings.Join(w.dumpModel(w.state), "\n"))
			}
		}
	})
}

// shares are the listeners of a Gateway and a ListenerSet: requests are answered as if
// the Gateway had them all, but for routes that attach to it by default.
type shares struct {
	documents []string
	own       int // how many the Gateway has itself
	byDefault bool
}

func shareOut(t *rapid.T, all []string) shares {
	out := shares{own: rapid.IntRange(1, len(all)).Draw(t, "own listeners"), byDefault: rapid.Bool().Draw(t, "default Gateway")}
	gateway := openYAML(all[:out.own]...)
	if out.byDefault {
		gateway = strings.Replace(gateway, "\n  listeners:", "\n  defaultScope: All\n  listeners:", 1)
	}
	out.documents = []string{gateway}
	if out.own < len(all) {
		out.documents = append(out.documents, setYAML("shop", "more", january, all[out.own:]...))
	}
	return out
}

// reached tells whether a route attaches to a listener: by the parentRef that names the
// object which has it, or by default to a Gateway that no parentRef names.
func (s shares) reached(route *gateway_v1.HTTPRoute, index int, name gateway_v1.SectionName) bool {
	kind := gateway_v1.Kind(kindListenerSet)
	if index < s.own {
		kind = kindGateway
	}
	for _, ref := range route.Spec.ParentRefs {
		if orElse(ref.Kind, kindGateway) == kind {
			return orElse(ref.SectionName, name) == name
		}
	}
	return index < s.own && s.byDefault && route.Spec.UseDefaultGateways == gateway_v1.GatewayDefaultScopeAll
}

func drawHTTPListeners(t *rapid.T) []string {
	hosts := rapid.SliceOfNDistinct(rapid.SampledFrom(drawnHosts), 1, 4, rapid.ID[string]).Draw(t, "listeners")
	var listeners []string
	for i, host := range hosts {
		l := fmt.Sprintf("{name: l%d, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}", i)
		if host != "" {
			l += fmt.Sprintf(", hostname: %q", host)
		}
		listeners = append(listeners, l+pick(t, "filters", "", "", filtersYAML("guard"), filtersYAML("guard", "judge"), filtersYAML("absent"), filtersYAML("guard", "absent"),
			", filters: {requests: [{type: ExtensionRef, extensionRef: {group: example.net, kind: absent, name: x}}]}")+"}")
	}
	return listeners
}

// guardYAML are services that can be asked, and filtersYAML are filters of a listener
// that ask services.
const guardYAML = "kind: Service\nmetadata: {name: guard, namespace: shop}\nspec: {ports: [{port: 80}]}\n---\nkind: Service\nmetadata: {name: judge, namespace: shop}\nspec: {ports: [{port: 80}]}"

func filtersYAML(services ...string) string {
	var filters []string
	for _, name := range services {
		filters = append(filters, "{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: "+name+", port: 80}}}")
	}
	return ", filters: {requests: [" + strings.Join(filters, ", ") + "]}"
}

// passing is what a request gets by the filters of its listener, which come before
// anything else: all services that can be asked, or none.
func passing(listeners []gateway_v1.Listener, r request, then string) string {
	at := belongs(listeners, r.Host)
	if at < 0 || listeners[at].Filters == nil {
		return then
	}
	for _, f := range listeners[at].Filters.Requests {
		if f.ExternalAuth == nil || f.ExternalAuth.BackendRef.Name == "absent" {
			return "500"
		}
		then += " if " + string(f.ExternalAuth.BackendRef.Name) + " says so"
	}
	return then
}

// belongs is the listener that a request belongs to, or -1.
func belongs(listeners []gateway_v1.Listener, host string) int {
	chosen, best := -1, ""
	for i, l := range listeners {
		name := string(orElse(l.Hostname, ""))
		if standsFor(name, host) && (chosen < 0 || moreSpecific(name, best)) {
			chosen, best = i, name
		}
	}
	return chosen
}

// drawRedirects is a route whose every rule redirects to a host of its own.
func drawRedirects(t *rapid.T, i int) string {
	var b strings.Builder
	section := pick(t, "section", "", "", ", sectionName: l0", ", sectionName: l1")
	gateway := "{name: edge, namespace: shop" + section + "}, "
	fmt.Fprintf(&b, "kind: HTTPRoute\nmetadata: {name: r%[1]d, namespace: %[2]s%[3]s}\nspec:\n%[5]s  parentRefs: [%[6]s{kind: ListenerSet, name: more, namespace: shop%[4]s}]\n", i, pick(t, "namespace", drawnNamespaces...), drawAge(t), section,
		pick(t, "defaults", "", "  useDefaultGateways: All\n", "  useDefaultGateways: None\n"), pick(t, "named", gateway, gateway, ""))
	var hosts []string
	for range rapid.IntRange(0, 2).Draw(t, "hosts") {
		hosts = append(hosts, fmt.Sprintf("%q", pick(t, "hostname", drawnHosts[1:]...)))
	}
	fmt.Fprintf(&b, "  hostnames: [%s]\n  rules:\n", strings.Join(hosts, ", "))
	for j := range rapid.IntRange(1, 3).Draw(t, "rules") {
		fmt.Fprintf(&b, "  - matches: [%s]\n    filters: [{type: RequestRedirect, requestRedirect: {hostname: r%d-%d.test}}]\n", drawFullMatches(t), i, j)
	}
	return b.String()
}

func drawFullMatches(t *rapid.T) string {
	var out []string
	for range rapid.IntRange(0, 3).Draw(t, "matches") {
		out = append(out, "{path: {"+pick(t, "path", "value: /", "value: /a", "value: /a/", "value: /a/b", "type: Exact, value: /a", "type: RegularExpression, value: '/a/[a-z]+'", "type: RegularExpression, value: '.*'", "type: RegularExpression, value: '/('")+"}"+
			pick(t, "method", "", "", ", method: GET", ", method: POST")+pick(t, "header", "", "", ", headers: [{name: X, value: '1'}]")+
			pick(t, "query", "", "", ", queryParams: [{name: q, value: '1'}]")+"}")
	}
	return strings.Join(out, ", ")
}

func drawRequest(t *rapid.T) request {
	return request{
		Host:   pick(t, "host", "a.example", "b.a.example", "c.b.a.example", "z.example", "example", "other.test", "else.test"),
		Path:   pick(t, "request path", "/", "/a", "/a/", "/a/b", "/ab", "/a/b/c"),
		Method: pick(t, "request method", "GET", "POST", "PUT"),
		Header: pick(t, "request header", "", "1", "2"), Query: pick(t, "request query", "", "1", "2"),
	}
}

// answers looks a request up as a proxy does: the most specific host, then the
// first route that matches.
func (w *world) answers(table string, r request) string {
	found := w.hostsOf(table)
	var host *model.VirtualHost
	for i, h := range found {
		if covers(hostOf(h.Domain), r.Host) && (host == nil || compareHosts(hostOf(h.Domain), hostOf(host.Domain)) < 0) {
			host = &found[i]
		}
	}
	if host == nil {
		return "404"
	}
	if host.Closed {
		return "500"
	}
	answer := "404"
	if i := slices.IndexFunc(host.Routes, func(route model.Route) bool { return matchesModel(route.Match, r) }); i >= 0 {
		answer = host.Routes[i].Redirect.Hostname
	}
	for _, service := range host.Admit {
		answer += " if " + strings.TrimSuffix(strings.TrimPrefix(string(service.Cluster), "shop/"), ":80") + " says so"
	}
	return answer
}

func matchesModel(m model.Match, r request) bool {
	switch m.Path.Kind {
	case model.PathExact:
		if r.Path != m.Path.Value {
			return false
		}
	case model.PathPrefix:
		if m.Path.Value != "/" && r.Path != m.Path.Value && !strings.HasPrefix(r.Path, m.Path.Value+"/") {
			return false
		}
	case model.PathRegex:
		if !regexp.MustCompile("^(?:" + m.Path.Value + ")$").MatchString(r.Path) {
			return false
		}
	}
	return (m.Method == "" || m.Method == r.Method) &&
		(len(m.Headers) == 0 || m.Headers[0].Value == r.Header) && (len(m.Query) == 0 || m.Query[0].Value == r.Query)
}

// claimant is a match of a route that applies to a request, with all that orders it.
type claimant struct {
	domain, host string
	exact        bool
	length       int
	regex        bool
	method       bool
	headers      int
	query        int
	created      time.Time
	name         string
	index        int
	target       string
	applies      bool
}

// specified is the answer by the text of the specification: the listener with the
// most specific host name, the most specific host name that a route has there, and
// then the rules of precedence in order.
func (s shares) specified(listeners []gateway_v1.Listener, routes []*gateway_v1.HTTPRoute, r request) string {
	chosen := belongs(listeners, r.Host)
	if chosen < 0 {
		return "404"
	}
	listener := string(orElse(listeners[chosen].Hostname, ""))
	var all []claimant
	for _, route := range routes {
		if !s.reached(route, chosen, listeners[chosen].Name) {
			continue
		}
		all = append(all, claimants(listener, route, r)...)
	}
	if len(all) == 0 {
		return "404"
	}
	domain := all[0].domain
	for _, c := range all {
		if moreSpecific(c.domain, domain) {
			domain = c.domain
		}
	}
	all = slices.DeleteFunc(all, func(c claimant) bool { return c.domain != domain || !c.applies })
	if len(all) == 0 {
		return "404"
	}
	best := all[0]
	for _, c := range all[1:] {
		if c.before(best) {
			best = c
		}
	}
	return best.target
}

// claimants are the valid matches of a route, once for each of its host names that
// stands for the request's and meets the listener's.
func claimants(listener string, route *gateway_v1.HTTPRoute, r request) []claimant {
	hosts := []string{""}
	if len(route.Spec.Hostnames) > 0 {
		hosts = nil
		for _, h := range route.Spec.Hostnames {
			hosts = append(hosts, string(h))
		}
	}
	var out []claimant
	for _, host := range hosts {
		if !standsFor(host, r.Host) {
			continue
		}
		domain := host
		if moreSpecific(listener, host) {
			domain = listener
		}
		index := 0
		for _, rule := range route.Spec.Rules {
			matches := rule.Matches
			if len(matches) == 0 {
				matches = []gateway_v1.HTTPRouteMatch{{}}
			}
			if slices.ContainsFunc(matches, func(m gateway_v1.HTTPRouteMatch) bool { return m.Path != nil && orElse(m.Path.Value, "") == "/(" }) {
				continue // the rule is invalid
			}
			for _, m := range matches {
				index++
				c := claimantOf(m, r)
				c.domain, c.host, c.index = domain, host, index
				c.created, c.name = route.CreationTimestamp.Time, route.Namespace+"/"+route.Name
				c.target = string(*rule.Filters[0].RequestRedirect.Hostname)
				out = append(out, c)
			}
		}
	}
	return out
}

func claimantOf(m gateway_v1.HTTPRouteMatch, r request) claimant {
	kind, value := gateway_v1.PathMatchPathPrefix, "/"
	if m.Path != nil {
		kind, value = orElse(m.Path.Type, kind), *m.Path.Value
	}
	c := claimant{applies: true, method: m.Method != nil, headers: len(m.Headers), query: len(m.QueryParams)}
	switch kind {
	case gateway_v1.PathMatchExact:
		c.exact, c.applies = true, r.Path == value
	case gateway_v1.PathMatchPathPrefix:
		trimmed := strings.TrimSuffix(value, "/")
		c.length, c.applies = max(1, len(trimmed)), r.Path == trimmed || strings.HasPrefix(r.Path, trimmed+"/")
	case gateway_v1.PathMatchRegularExpression:
		c.regex, c.length = true, strings.IndexAny(value+"[", "[.")
		c.applies = regexp.MustCompile("^(?:" + value + ")$").MatchString(r.Path)
	}
	c.applies = c.applies && (m.Method == nil || string(*m.Method) == r.Method) &&
		(len(m.Headers) == 0 || r.Header == m.Headers[0].Value) && (len(m.QueryParams) == 0 || r.Query == m.QueryParams[0].Value)
	return c
}

func (c claimant) before(o claimant) bool {
	switch {
	case c.host != o.host:
		return moreSpecific(c.host, o.host)
	case c.exact != o.exact:
		return c.exact
	case c.length != o.length:
		return c.length > o.length
	case c.regex != o.regex:
		return c.regex
	case c.method != o.method:
		return c.method
	case c.headers != o.headers:
		return c.headers > o.headers
	case c.query != o.query:
		return c.query > o.query
	case !c.created.Equal(o.created):
		return c.created.Before(o.created)
	case c.name != o.name:
		return c.name < o.name
	default:
		return c.index < o.index
	}
}

// standsFor reads "wildcard label" as the specification words it.
func standsFor(name, host string) bool {
	if suffix, ok := strings.CutPrefix(name, "*."); ok {
		labels, wanted := strings.Split(host, "."), strings.Split(suffix, ".")
		return len(labels) > len(wanted) && slices.Equal(labels[len(labels)-len(wanted):], wanted)
	}
	return name == "" || name == host
}

// moreSpecific: exact before wildcard before any, then by number of characters.
func moreSpecific(a, b string) bool {
	kind := func(h string) int {
		switch {
		case h == "":
			return 0
		case h[0] == '*':
			return 1
		default:
			return 2
		}
	}
	if kind(a) != kind(b) {
		return kind(a) > kind(b)
	}
	return len(a) > len(b)
}
