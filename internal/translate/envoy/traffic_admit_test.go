package envoy

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/test/backend"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// porter is a service that says of which tenant a request is, by the word that it has
// or the path, and tries to send it to another host.
func (a *asked) porter(t *testing.T, name string) netip.AddrPort {
	t.Helper()
	return serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		a.note(name, r)
		tenant := r.Header.Get("Authorization")
		if tenant == "" && !strings.HasPrefix(r.URL.Path, "/shop.Cart/") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("X-Tenant", tenant)
		w.Header().Set("X-Last", name)
		w.Header().Set("Host", "open.example")
		w.Header().Set("X-Gatehouse-Scope", "8080/open.example")
	})
}

func asking(names ...string) []model.Auth {
	var out []model.Auth
	for _, name := range names {
		out = append(out, model.Auth{Cluster: backendID(name)})
	}
	return out
}

// admitting is a world of one plain table whose listeners ask.
func admitting(scoped bool, at map[string]netip.AddrPort, hosts ...model.VirtualHost) world {
	w := plain(hosts, at)
	w.Tables[0].Scoped = scoped
	l := w.Listeners[httpPort]
	for _, h := range hosts {
		l.Admits = max(l.Admits, len(h.Admit))
	}
	w.Listeners[httpPort] = l
	return w
}

// TestAdmit: services of a listener are asked before requests are routed and by what
// they then are; what no route takes has been asked about, too.
func TestAdmit(t *testing.T) {
	var a asked
	at := backends(t, "ann", "all", "open")
	at["porter"], at["second"], at["guard"] = a.porter(t, "porter"), a.porter(t, "second"), a.guard(t, "guard")
	tenant := prefix("/t")
	tenant.Headers = []model.ValueMatch{{Name: "x-tenant", Value: "ann"}}
	inner := guarded(asking("guard")...)
	inner.Match, inner.Forward = prefix("/inner"), to("all")
	routes := []model.Route{
		{Name: "ann", Match: tenant, Forward: to("ann")},
		{Name: "all", Match: prefix("/t"), Forward: to("all")},
		{Name: "moved", Match: prefix("/moved"), Redirect: &model.Redirect{Scheme: "https", Status: 302}},
		inner,
	}
	for _, scoped := range []bool{false, true} {
		f := serve(t, admitting(scoped, at,
			model.VirtualHost{Domain: "one.example", Routes: routes, Admit: asking("porter")},
			model.VirtualHost{Domain: "*.one.example", Routes: routes, Admit: asking("porter")},
			model.VirtualHost{Domain: "two.example", Routes: routes, Admit: asking("porter", "second")},
			model.VirtualHost{Domain: "blank.example", Admit: asking("porter")},
			model.VirtualHost{Domain: "wrong.example", Admit: asking("porter"), Misdirected: true},
			model.VirtualHost{Domain: "down.example", Routes: routes, Admit: asking("down")},
			model.VirtualHost{Domain: "half.example", Routes: routes, Admit: asking("porter", "down")},
			model.VirtualHost{Domain: "shut.example", Closed: true},
			model.VirtualHost{Domain: "*.shut.example", Closed: true},
			model.VirtualHost{Domain: "open.example", Routes: []model.Route{{Name: "open", Match: prefix("/"), Forward: to("open")}}},
		))
		for _, c := range []struct {
			host, path, word string
			status           int
			backend, asked   string
		}{
			{"one.example", "/t", "ann", 200, "ann", "porter"},
			{"one.example", "/t", "bob", 200, "all", "porter"},
			{"one.example", "/t", "", 401, "", "porter"},
			{"one.example", "/none", "ann", 404, "", "porter"},
			{"one.example", "/none", "", 401, "", "porter"},
			{"one.example", "/moved", "ann", 302, "", "porter"},
			{"one.example", "/moved", "", 401, "", "porter"},
			{"one.example", "/inner", "open", 200, "all", "porter guard"},
			{"one.example", "/inner", "ann", 401, "", "porter guard"},
			{"ONE.example.:80", "/t", "ann", 200, "ann", "porter"},
			{"x.One.example", "/t", "ann", 200, "ann", "porter"},
			{"x.one.example", "/none", "ann", 404, "", "porter"},
			{"x.one.example", "/none", "", 401, "", "porter"},
			{"two.example", "/t", "ann", 200, "ann", "porter second"},
			{"two.example", "/t", "", 401, "", "porter"},
			{"blank.example", "/t", "ann", 404, "", "porter"},
			{"blank.example", "/t", "", 401, "", "porter"},
			{"wrong.example", "/t", "ann", 421, "", "porter"},
			{"wrong.example", "/t", "", 401, "", "porter"},
			{"down.example", "/t", "ann", 500, "", ""},
			{"half.example", "/t", "ann", 500, "", "porter"},
			{"shut.example", "/t", "ann", 500, "", ""},
			{"x.Shut.example", "/t", "ann", 500, "", ""},
			{"open.example", "/t", "", 200, "open", ""},
			{"none.example", "/t", "", 404, "", ""},
		} {
			got := f.ask(question{Host: c.host, Path: c.path, Header: known(c.word)})
			if asked := a.take(); got.Status != c.status || got.Backend != c.backend || asked != c.asked {
				t.Errorf("by host %v, %s%s with the word %q: %d of %q after %q, want %d of %q after %q", scoped, c.host, c.path, c.word, got.Status, got.Backend, asked, c.status, c.backend, c.asked)
			}
			if last := c.asked[strings.LastIndex(c.asked, " ")+1:]; got.Backend != "" && last != "" && last != "guard" && (got.Answer.Headers.Get("X-Last") != last || got.Answer.Headers.Get(scopeHeader) != "" || got.Answer.Host != strings.ReplaceAll(c.host, ".:", ":")) {
				t.Errorf("by host %v, %s: the backend sees %s and %v", scoped, c.host, got.Answer.Host, got.Answer.Headers)
			}
		}
		preflight := http.Header{"Origin": {"https://x.example"}, "Access-Control-Request-Method": {"GET"}}
		if got := f.ask(question{Host: "one.example", Method: "OPTIONS", Path: "/t", Header: preflight}); got.Status != 401 {
			t.Errorf("by host %v, a preflight: status %d, want 401", scoped, got.Status)
		}
		upgrade := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
		if got := f.ask(question{Host: "one.example", Path: "/t", Header: upgrade}); got.Status != 401 {
			t.Errorf("by host %v, an upgrade: status %d, want 401", scoped, got.Status)
		}
		a.take()
	}
}

// TestAdmitHoldsForEverySpelling: whatever a host with any name has, a listener without
// a name asks about each request, however its host is written.
func TestAdmitHoldsForEverySpelling(t *testing.T) {
	var a asked
	guard := a.guard(t, "guard")
	domains := []string{"a.example", "deep.a.example", "*.a.example", "*.example", "xn--bcher-kva.example", "under_score.example", "example", "*"}
	for _, scoped := range []bool{false, true} {
		open, guarded := hostWorld(scoped, domains...), hostWorld(scoped, domains...)
		guarded.addBackend("guard", model.UpstreamHTTP1, guard)
		for i := range guarded.Tables[0].Hosts {
			guarded.Tables[0].Hosts[i].Admit = asking("guard")
		}
		free, asks := serve(t, open).envoy.Address(httpPort), serve(t, guarded).envoy.Address(httpPort)
		counts := map[string]int{}
		for _, form := range slices.Concat(hostForms, []string{"b.a.example", "wrong.example", "X.Wrong.Example:80"}) {
			for _, path := range []string{"/here", "/gone"} {
				for version, ask := range map[string]func(context.Context, string, string, string) string{"HTTP/1.1": raw("HTTP/1.1"), "HTTP/1.0": raw("HTTP/1.0"), "HTTP/2": http2} {
					want := ask(t.Context(), free, form, path)
					if strings.HasPrefix(want, "2") || strings.HasPrefix(want, "404") || strings.HasPrefix(want, "421") {
						want = "401 Unauthorized"
					}
					counts[want]++
					got := ask(t.Context(), asks, form, path)
					if strings.Contains(form, "@") && strings.HasPrefix(got, "400") {
						got = "401 Unauthorized" // no service takes such a host
					}
					if got != want {
						t.Errorf("by host %v, %s %q %s: %s, want %s", scoped, version, form, path, got, want)
					}
				}
			}
		}
		if counts["401 Unauthorized"] < 200 {
			t.Errorf("too few requests reach a host to mean anything: %v", counts)
		}
	}
}

// TestAdmitConnections: the same for connections of one HTTPS listener and requests for
// another, and for calls.
func TestAdmitConnections(t *testing.T) {
	var asks asked
	a := newAuthority(t)
	cart, err := backend.StartGRPC(t.Context(), "cart", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cart.Close() })
	at := backends(t, "a", "b")
	at["porter"] = asks.porter(t, "porter")
	w := secure(a, map[string]string{"a.example": "a", "b.example": "b"}, at)
	w.addBackend("cart", model.UpstreamHTTP2, cart.Addr)
	for i, tbl := range w.Tables {
		if tbl.ID == "shop/edge/8443/a" {
			for k := range tbl.Hosts {
				w.Tables[i].Hosts[k].Admit = asking("porter")
			}
		}
	}
	w.Tables[0].Hosts = []model.VirtualHost{{Domain: "*", Admit: asking("porter"), Routes: []model.Route{
		{Name: "call", Match: model.Match{GRPC: true, Path: prefix("/").Path}, Forward: to("cart")},
	}}}
	f := serve(t, w)
	for _, c := range []struct {
		sni, host, word string
		status          int
	}{
		{"a.example", "a.example", "ann", 200},
		{"a.example", "a.example", "", 401},
		{"a.example", "A.EXAMPLE", "", 401},
		{"a.example", "b.example", "ann", 421},
		{"a.example", "b.example", "", 401},
		{"b.example", "b.example", "", 200},
		{"b.example", "a.example", "ann", 421},
	} {
		if got := f.askAt(f.envoy.Address(tlsPort), a.client(c.sni), question{Host: c.host, Header: known(c.word)}); got.Status != c.status {
			t.Errorf("name %s, host %s, word %q: %d, want %d", c.sni, c.host, c.word, got.Status, c.status)
		}
	}
	port := netip.MustParseAddrPort(f.envoy.Address(httpPort)).Port()
	for method, want := range map[string]codes.Code{"/shop.Cart/Add": codes.OK, "/shop.Wallet/Take": codes.Unauthenticated} {
		if answer, err := rig.Call(t.Context(), port, "shop.example", method); status.Code(err) != want {
			t.Errorf("%s: %q, %v, want %v", method, answer, err, want)
		}
	}
}

// TestAdmitThatCannotBeMade: a host whose services cannot be put in words answers 500,
// and leaves its requests to no other host.
func TestAdmitThatCannotBeMade(t *testing.T) {
	for _, scoped := range []bool{false, true} {
		w := admitting(scoped, backends(t, "open"),
			model.VirtualHost{Domain: "a.example", Admit: []model.Auth{{Cluster: backendID("x"), Path: "no path"}}},
			model.VirtualHost{Domain: "b.example", Admit: slices.Repeat(asking("open"), model.MaxAdmit+1)},
			model.VirtualHost{Domain: "*", Routes: []model.Route{{Name: "open", Match: prefix("/"), Forward: to("open")}}})
		got := translate(t, w)
		if len(got.failures) != 2 {
			t.Errorf("by host %v: failures %v", scoped, got.failures)
		}
		f := serveAs(t, got)
		for host, want := range map[string]int{"a.example": 500, "A.example": 500, "b.example": 500, "c.example": 200} {
			if got := f.ask(question{Host: host}); got.Status != want {
				t.Errorf("by host %v, %s: status %d, want %d", scoped, host, got.Status, want)
			}
		}
	}
}
