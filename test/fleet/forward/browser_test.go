package forward

import (
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/chrome"
)

// TestChromium loads pages, in clear and by TLS, and talks over a WebSocket, through a
// proxy that it shows its password when challenged, and through one that knows it by its
// address: Chromium has no passwords for SOCKS.
func TestChromium(t *testing.T) {
	dir := credentials(t)
	cert, key, _ := certificate(t)
	for name, c := range map[string]struct {
		scheme string
		flags  []string
		asked  bool
	}{
		"http":   {"http", []string{"--auth-dir", dir}, true},
		"https":  {"https", []string{"--auth-dir", dir, "--scheme", "https", "--tls-cert", cert, "--tls-key", key}, true},
		"socks5": {"socks5", []string{"--allow-sources", "127.0.0.1/32"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tg, p := newTarget(t), start(t, small(), c.flags...)
			b := chrome.Through(t, c.scheme+"://"+p.address, "bob", "s3cr/t:@")
			visit(t, b, tg)
			if asked := b.Challenges() > 0; asked != c.asked {
				t.Errorf("challenged %d times", b.Challenges())
			}
			tg.check(t)
			text := p.metrics()
			if c.asked == strings.Contains(text, `requests_total{protocol="connect"} 0`) || c.asked != strings.Contains(text, `requests_total{protocol="socks5"} 0`) {
				t.Errorf("the proxy counts\n%s", text)
			}
		})
	}
}

// talk sends a word over a WebSocket and gets it back.
const talk = `new Promise((done, fail) => {
	const s = new WebSocket(location.origin.replace(/^http/, "ws") + "/echo");
	s.onopen = () => s.send("word");
	s.onmessage = (m) => done(m.data);
	s.onerror = () => fail("the socket failed");
})`

func visit(t *testing.T, b *chrome.Proxied, tg *target) {
	t.Helper()
	for _, url := range []string{tg.http, tg.https} {
		if err := b.Open(url + "/"); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		text, err := chrome.Evaluate[string](b, `document.getElementById("text").textContent`)
		if err != nil || text != "hello" {
			t.Errorf("%s shows %q, %v", url, text, err)
		}
		size, err := chrome.Evaluate[int](b, `fetch("/bulk").then(r => r.arrayBuffer()).then(b => b.byteLength)`)
		if err != nil || size != len(bulk()) {
			t.Errorf("%s/bulk has %d bytes, %v", url, size, err)
		}
		word, err := chrome.Evaluate[string](b, talk)
		if err != nil || word != "word" {
			t.Errorf("%s/echo says %q, %v", url, word, err)
		}
	}
}
