package envoy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// hostForms are ways to write the host of a request. One is not among them: of a
// name with two colons, which no host is, a lookup by host takes what is before the
// first and a whole table nothing.
var hostForms = []string{
	"a.example", "A.Example", "a.EXAMPLE", "A.EXAMPLE:8080", "a.example:8080", "a.example:80", "a.example:", "a.example.", "A.Example.", "a.example.:8080",
	"b.example", "B.example", "b.example:1", "c.d.example", "C.D.Example.:8080", ".example", "example", "example:80", "*.example", "**", "*",
	"deep.a.example", "DEEP.a.example", "deep.a.example:8080", "deep.a.example.", "x.deep.a.example", "other.a.example", "Other.A.Example", "x.y.a.example", ".a.example",
	"xn--bcher-kva.example", "XN--BCHER-KVA.example", "b\u00fccher.example", "under_score.example", "UNDER_score.example:9",
	"none.test", "None.Test", "none.test:80", "none.test.", "127.0.0.1", "127.0.0.1:8080", "10.0.0.1.example", "[::1]", "[::1]:8080", "[2001:db8::A]:80", "::1", "",
	":", ":80", "8080/a.example", "8080/", "/a.example", "/", "a.example/", "a.example/x", "%41.example", "a.example%2e", "a..example", "a.example..", "a.example,b.example", "-",
	"user@a.example", "a.example?x", "a.example#x", "a.example\t", "localhost", strings.Repeat("a", 300) + ".example",
}

// hostWorld answers every host with a status of its own.
func hostWorld(scoped bool, domains ...string) world {
	var hosts []model.VirtualHost
	for i, domain := range domains {
		hosts = append(hosts, model.VirtualHost{Domain: domain, Routes: []model.Route{
			{Name: "shop/r", Match: prefix("/here"), Status: uint32(210 + i)},
		}})
	}
	hosts = append(hosts, model.VirtualHost{Domain: "b.a.example"}, model.VirtualHost{Domain: "*.wrong.example", Misdirected: true}, model.VirtualHost{Domain: "wrong.example", Misdirected: true})
	w := plain(hosts, nil)
	w.Tables[0].Scoped = scoped
	return w
}

// TestHostForms: however a host is written, a table that is looked up by host
// answers as one that is looked up as a whole.
func TestHostForms(t *testing.T) {
	domains := []string{"a.example", "deep.a.example", "*.a.example", "*.example", "xn--bcher-kva.example", "under_score.example", "example"}
	forms := slices.Concat(hostForms, []string{"b.a.example", "B.A.example:80", "x.b.a.example", "wrong.example", "WRONG.example.", "x.wrong.example", "X.Wrong.Example:80"})
	for name, more := range map[string][]string{"with a catch-all": {"*"}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			whole := serve(t, hostWorld(false, append(domains, more...)...)).envoy.Address(httpPort)
			scoped := serve(t, hostWorld(true, append(domains, more...)...)).envoy.Address(httpPort)
			answers := map[string]int{}
			for _, form := range forms {
				for _, path := range []string{"/here", "/gone"} {
					for version, ask := range map[string]func(context.Context, string, string, string) string{"HTTP/1.1": raw("HTTP/1.1"), "HTTP/1.0": raw("HTTP/1.0"), "HTTP/2": http2} {
						want, got := ask(t.Context(), whole, form, path), ask(t.Context(), scoped, form, path)
						answers[want]++
						if got != want {
							t.Errorf("%s %q %s: %s by host, %s as a whole", version, form, path, got, want)
						}
					}
				}
			}
			if len(answers) < len(domains)+3 {
				t.Errorf("too few different answers to mean anything: %v", answers)
			}
		})
	}
}

// raw sends a request as it is written, and returns its status.
func raw(version string) func(context.Context, string, string, string) string {
	return func(ctx context.Context, address, host, path string) string {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err.Error()
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err.Error()
		}
		_, _ = fmt.Fprintf(conn, "GET %s %s\r\nHost: %s\r\nConnection: close\r\n\r\n", path, version, host)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return "no answer"
		}
		defer response.Body.Close()
		return response.Status
	}
}

// http2 sends a request with a host as its authority.
func http2(ctx context.Context, address, host, path string) string {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return err.Error()
	}
	request.Host = host
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "no answer"
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.Status
}

// TestScopeIsPrivate: a client cannot choose a scope, and a backend sees the
// request as it came, without the scope.
func TestScopeIsPrivate(t *testing.T) {
	at := backends(t, "a", "wild")
	w := plain([]model.VirtualHost{
		{Domain: "a.example", Routes: []model.Route{{Name: "r", Match: prefix("/"), Forward: to("a")}}},
		{Domain: "*.example", Routes: []model.Route{{Name: "r", Match: prefix("/"), Forward: to("wild")}}},
	}, at)
	w.Tables[0].Scoped = true
	f := serve(t, w)
	for host, want := range map[string]string{"a.example:8080": "a", "A.Example": "a", "b.example": "wild", "B.Example:1": "wild"} {
		got := f.ask(question{Host: host, Header: http.Header{"X-Gatehouse-Scope": {"8080/a.example", "8080/"}}})
		if got.Status != 200 || got.Backend != want {
			t.Errorf("%s: status %d of %q, want backend %s", host, got.Status, got.Backend, want)
		}
		if got.Answer.Headers.Get(scopeHeader) != "" || got.Answer.Host != host {
			t.Errorf("%s: the backend sees host %s and %v", host, got.Answer.Host, got.Answer.Headers)
		}
	}
}

// TestFiltersHoldForEverySpelling: a filter that one route has is there however the
// host is written, also where only the second lookup finds it.
func TestFiltersHoldForEverySpelling(t *testing.T) {
	at := backends(t, "a")
	cors := &model.CORS{Origins: []string{"https://page.example"}, Methods: []string{"GET"}}
	routes := []model.Route{{Name: "r", Match: prefix("/"), Forward: to("a"), Filters: model.Filters{CORS: cors}}}
	bare := []model.Route{{Name: "r", Match: prefix("/"), Forward: to("a")}}
	hosts := []model.VirtualHost{{Domain: "a.example", Routes: routes}, {Domain: "*.example", Routes: routes}, {Domain: "bare.example", Routes: bare}}
	for _, scoped := range []bool{false, true} {
		w := plain(hosts, at)
		w.Tables[0].Scoped = scoped
		f := serve(t, w)
		for host, want := range map[string]string{
			"a.example": "https://page.example", "A.Example": "https://page.example", "a.example.:8080": "https://page.example",
			"b.example": "https://page.example", "B.EXAMPLE:80": "https://page.example", "bare.example": "", "Bare.Example": "",
		} {
			got := f.ask(question{Host: host, Header: http.Header{"Origin": {"https://page.example"}}})
			if allowed := got.Header.Get("Access-Control-Allow-Origin"); got.Status != 200 || allowed != want {
				t.Errorf("by host %v, %s: status %d allows %q, want %q", scoped, host, got.Status, allowed, want)
			}
		}
	}
}
