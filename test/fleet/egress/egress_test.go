package egress

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/chrome"
)

// curl goes by leased proxies in every way that it has, of both schemes of proxies, by the
// super-proxy within the fleet and by one beside it.
func TestCurl(t *testing.T) {
	web := newSite(t)
	f := fleet(t, web, "px-1", "px-socks")
	secret, file := token(t)
	s := start(t, f, "--tokens", file)
	login := func(user string) string { return user + ":" + secret }
	for _, scheme := range []string{"http", "socks5"} {
		seen := map[string]bool{}
		for _, way := range []string{"http", "socks5h", "socks5"} {
			for _, url := range []string{web.http, web.https} {
				seen[web.curl(t, "--proxy", way+"://"+s.address, "--proxy-user", login("scheme="+scheme), url)] = true
			}
		}
		if len(seen) != 1 || seen["127.0.0.1"] {
			t.Errorf("by the %s proxy the site sees %v", scheme, seen)
		}
	}
	within := web.curl(t, "--proxy", "http://"+f.Egress, "--proxy-user", "-:"+f.EgressToken, web.https)
	if within == "127.0.0.1" || !strings.HasPrefix(within, "127.") {
		t.Errorf("by the fleet's own super-proxy the site sees %s", within)
	}
	until(t, "the leases are given back", func() bool { _, leases := s.sessions(t); return leases == 0 })
	if code, body := ask(t, s.admin+"/readyz"); code != 200 {
		t.Errorf("not ready: %s", body)
	}
	if _, body := ask(t, s.metrics+"/metrics"); !strings.Contains(body, `gatehouse_egress_requests_total{outcome="served"} 12`) ||
		!strings.Contains(body, `gatehouse_egress_acquire_seconds_count{outcome="ok"} 12`) || !strings.Contains(body, `gatehouse_egress_client_requests_total{protocol="socks5"} 8`) {
		t.Errorf("metrics %s", body)
	}
	if said := s.output.String() + f.Log.String(); strings.Contains(said, secret) || strings.Contains(said, f.EgressToken) {
		t.Errorf("a token is logged:\n%s", said)
	}
}

// What a user name or a token does not allow is told by curl as it is answered.
func TestRefusalsAreTold(t *testing.T) {
	web := newSite(t)
	f := fleet(t, web, "px-1")
	secret, file := token(t, "--selector", "scheme=http")
	s := start(t, f, "--tokens", file)
	answer := func(user, password string) string {
		out, _ := web.tryCurl(t, "--include", "--proxy", "http://"+s.address, "--proxy-user", user+":"+password, web.http)
		return out
	}
	for _, c := range []struct{ user, password, status, text string }{
		{"country-de", secret, "407 ", `user name: "country-de" is no key=value pair: write country=de`},
		{"-", "wrong", "407 ", "wrong user name or password"},
		{"scheme=socks5", secret, "403 ", "the token of tester is limited to scheme=http: leave scheme=socks5 out"},
	} {
		if out := answer(c.user, c.password); !strings.HasPrefix(out, "HTTP/1.1 "+c.status) || !strings.Contains(out, c.text) || !strings.Contains(out, "Proxy-Status: gatehouse-egress; error=http_request_denied") {
			t.Errorf("%s: %s", c.user, out)
		}
	}
	if out := answer("-", secret); !strings.HasPrefix(out, "HTTP/1.1 200 ") || !strings.Contains(out, "Gatehouse-Proxy: crawl/px-1") || !strings.Contains(out, "Gatehouse-Lease: ") ||
		!strings.Contains(out, `Proxy-Status: gatehouse-egress; next-hop="crawl/px-1"`) {
		t.Errorf("served: %s", out)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "the token does not count any more", func() bool { return strings.HasPrefix(answer("-", secret), "HTTP/1.1 407 ") })
}

// Many connections of one session go by one proxy, by two super-proxies; when it dies,
// all go on by another one.
func TestASessionOverManyConnections(t *testing.T) {
	web := newSite(t)
	f := fleet(t, web, "px-1", "px-2", "px-3")
	secret, file := token(t)
	one, other := start(t, f, "--tokens", file), start(t, f, "--tokens", file)
	by := func(s *super) string {
		return web.curl(t, "--proxy", "http://"+s.address, "--proxy-user", "session=abc:"+secret, web.https)
	}
	first := by(one)
	same := func(want string) {
		t.Helper()
		var all sync.WaitGroup
		for _, s := range []*super{one, other} {
			for range 6 {
				all.Go(func() {
					if got := by(s); got != want {
						t.Errorf("the site sees %s, and before %s", got, want)
					}
				})
			}
		}
		all.Wait()
	}
	same(first)
	sessions, _ := one.sessions(t)
	if len(sessions) != 1 || sessions[0]["token"] != "tester" || sessions[0]["session"] != "abc" || sessions[0]["target"] != "127.0.0.1" {
		t.Fatalf("sessions %v", sessions)
	}
	kill(t, f, fmt.Sprint(sessions[0]["proxy"]))
	second := by(one)
	if second == first {
		t.Errorf("after its end the site still sees %s", first)
	}
	if code := one.end(t); code != 0 {
		t.Errorf("exit code %d:\n%s", code, one.output)
	}
	if code := other.end(t); code != 0 {
		t.Errorf("exit code %d:\n%s", code, other.output)
	}
	until(t, "all leases are given back", func() bool { return active(t, f) == 0 })
}

// A session whose proxy somebody reports as banned, as its answers name the lease, goes on
// from another address; a download that is under way comes to its end.
func TestASessionLeavesABannedProxy(t *testing.T) {
	web := newSite(t)
	f := fleet(t, web, "px-1", "px-2")
	secret, file := token(t)
	s := start(t, f, "--tokens", file)
	by := []string{"--proxy", "http://" + s.address, "--proxy-user", "session=abc:" + secret}
	slow := web.slow(t, append(by, "--proxytunnel")...)
	first := slow.line(t)
	told := web.curl(t, append(by, "--head", web.http)...)
	id := leaseTold.FindStringSubmatch(told)
	if id == nil {
		t.Fatalf("no lease is told: %s", told)
	}
	report(t, f, id[1], "banned")
	until(t, "the session leaves the address", func() bool { return web.curl(t, append(by, web.https)...) != first })
	if got := slow.line(t); got != first {
		t.Errorf("the download goes on from %s, and began from %s", got, first)
	}
	if sessions, leases := s.sessions(t); len(sessions) != 1 || leases != 2 {
		t.Errorf("%v, %d leases, of which one is the download's", sessions, leases)
	}
	slow.end(t)
	until(t, "the lease of the download is given back", func() bool { _, leases := s.sessions(t); return leases == 1 })
}

// Chromium shows the token once it is challenged, and opens pages in clear and by TLS.
func TestChromium(t *testing.T) {
	web := newSite(t)
	f := fleet(t, web, "px-1")
	secret, file := token(t)
	s := start(t, f, "--tokens", file)
	b := chrome.Through(t, "http://"+s.address, "session=browser", secret)
	for _, url := range []string{web.http, web.https} {
		if err := b.Open(url + "/"); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		if got, err := chrome.Evaluate[string](b, `document.getElementById("text").textContent`); err != nil || got == "127.0.0.1" || !strings.HasPrefix(got, "127.") {
			t.Errorf("%s sees %q, %v", url, got, err)
		}
	}
	if b.Challenges() == 0 {
		t.Error("it was not challenged")
	}
}
