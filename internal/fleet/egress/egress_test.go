package egress

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A tunnel and a request go by a leased proxy, which targets see; the client is told which,
// and nobody gets the token. The lease is given back with the connection.
func TestByALeasedProxy(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11)
	secret, who := tokens(t, "crawler", "")
	s := w.start(who)
	tunnel, r := s.connect(t, echo(t), basic("-", secret))
	tunnel.expect("127.0.0.11\n")
	tunnel.send("hello").expect("hello")
	if r.Header.Get(ProxyHeader) != "crawl/px-1" || len(r.Header.Get(LeaseHeader)) != 32 || r.Header.Get("Proxy-Status") != `gatehouse-egress; next-hop="crawl/px-1"` {
		t.Errorf("told %v", r.Header)
	}
	home, told := target(t)
	plain := s.dial(t)
	for _, path := range []string{"/a?b=c", "/x%2Fy"} {
		r, body := plain.send(request("POST", home+path, basic("-", secret), "Content-Length: 4\r\n") + "data").answer("POST")
		if body != "127.0.0.11 POST "+path+" data" || r.Header.Get(ProxyHeader) != "crawl/px-1" || r.Header.Get("Proxy-Status") != `gatehouse-egress; next-hop="crawl/px-1"` {
			t.Errorf("%s: %s %q %v", path, r.Status, body, r.Header)
		}
	}
	if n := w.active(); n != 2 {
		t.Errorf("%d leases for two connections", n)
	}
	_ = plain.Close()
	_ = tunnel.Close()
	eventually(t, "the leases are given back", func() bool { return w.active() == 0 })
	if slices.ContainsFunc(told(), func(name string) bool { return strings.HasPrefix(name, "Proxy") }) {
		t.Errorf("the target is told %v", told())
	}
}

// What is wrong with a request is told, in words of HTTP.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11)
	secret, who := tokens(t, "crawler", "name=px-1")
	s := w.start(who)
	to := echo(t)
	for name, c := range map[string]struct {
		field  string
		target string
		status int
		text   string
	}{
		"no token":         {"", to, 407, "user name and password are needed"},
		"wrong token":      {basic("a=b", "x"), to, 407, "wrong user name or password"},
		"wrong user name":  {basic("country-de", secret), to, 407, `user name: "country-de" is no key=value pair: write country=de`},
		"too long":         {basic("a="+strings.Repeat("x", 300), secret), to, 407, "255 are what SOCKS can carry"},
		"beyond the token": {basic("name=px-2", secret), to, 403, "the token of crawler is limited to name=px-1: leave name=px-2 out"},
		"private":          {basic("-", secret), "10.0.0.1:443", 403, "this address is not allowed as a destination"},
		"looks private":    {basic("-", secret), "2130706433:443", 403, "this address is not allowed as a destination"},
		"mail":             {basic("-", secret), "example.org:25", 403, "this port is not allowed as a destination"},
	} {
		t.Run(name, func(t *testing.T) {
			r, body := s.dial(t).send(request("CONNECT", c.target, c.field)).answer("CONNECT")
			if r.StatusCode != c.status || !strings.Contains(body, c.text) || !strings.HasPrefix(r.Header.Get("Proxy-Status"), "gatehouse-egress; error=") {
				t.Errorf("%s %v %q", r.Status, r.Header, body)
			}
			if c.status == 407 && r.Header.Get("Proxy-Authenticate") == "" {
				t.Error("no challenge")
			}
		})
	}
	if strings.Contains(s.log.String(), secret) || !strings.Contains(s.log.String(), "country-de") {
		t.Errorf("logged %s", s.log)
	}
}

// Without a proxy that suits, a client waits as long as for a connection, and is told what
// there is; without the API, that.
func TestNoLease(t *testing.T) {
	w := newWorld(t)
	s := w.start(func(c *Config) { c.Limits.Connect /= 4 })
	ask := func(user string) (answered, string) {
		return s.dial(t).send(request("CONNECT", "127.0.0.1:80", basic(user, "x"))).answer("CONNECT")
	}
	if r, body := ask("country=de"); r.StatusCode != 503 || !strings.Contains(body, "none has the attributes") || r.Header.Get("Retry-After") == "" {
		t.Errorf("no proxies: %s %v %q", r.Status, r.Header, body)
	}
	p := w.add("px-1", 11)
	p.object.Status.Conditions[1].Status = "False"
	w.offer(p.object)
	if r, body := ask("-"); r.StatusCode != 503 || !strings.Contains(body, "considered=1 atCapacity=0 inCooldown=0 unhealthy=1") || !strings.Contains(r.Header.Get("Proxy-Status"), "error=destination_unavailable") {
		t.Errorf("unhealthy: %s %v %q", r.Status, r.Header, body)
	}
	w.answer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "7")
		rw.WriteHeader(503)
		_, _ = rw.Write([]byte(`{"error":"not_leading"}`))
	}))
	if r, body := ask("-"); r.StatusCode != 503 || !strings.Contains(body, "the lease API grants nothing now: not_leading") || r.Header.Get("Retry-After") != "7" {
		t.Errorf("not leading: %s %v %q", r.Status, r.Header, body)
	}
	w.api.Close()
	if r, body := ask("-"); r.StatusCode != 503 || !strings.Contains(body, "the lease API does not answer") || !strings.Contains(r.Header.Get("Proxy-Status"), "error=proxy_internal_error") {
		t.Errorf("away: %s %v %q", r.Status, r.Header, body)
	}
}
