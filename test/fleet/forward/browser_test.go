package forward

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
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
			b := startBrowser(t, c.scheme+"://"+p.address)
			b.visit(t, tg)
			if asked := b.challenges.Load() > 0; asked != c.asked {
				t.Errorf("challenged %d times", b.challenges.Load())
			}
			tg.check(t)
			text := p.metrics()
			if c.asked == strings.Contains(text, `requests_total{protocol="connect"} 0`) || c.asked != strings.Contains(text, `requests_total{protocol="socks5"} 0`) {
				t.Errorf("the proxy counts\n%s", text)
			}
		})
	}
}

// browser is a Chromium that uses a proxy.
type browser struct {
	tab        context.Context
	challenges atomic.Int64
}

// talk sends a word over a WebSocket and gets it back.
const talk = `new Promise((done, fail) => {
	const s = new WebSocket(location.origin.replace(/^http/, "ws") + "/echo");
	s.onopen = () => s.send("word");
	s.onmessage = (m) => done(m.data);
	s.onerror = () => fail("the socket failed");
})`

func (b *browser) visit(t *testing.T, tg *target) {
	t.Helper()
	for _, url := range []string{tg.http, tg.https} {
		if err := chromedp.Do(b.tab, chromedp.Navigate(url+"/")); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		text, err := chromedp.Run(b.tab, chromedp.Evaluate[string](`document.getElementById("text").textContent`))
		if err != nil || text != "hello" {
			t.Errorf("%s shows %q, %v", url, text, err)
		}
		size, err := chromedp.Run(b.tab, chromedp.Evaluate[int](`fetch("/bulk").then(r => r.arrayBuffer()).then(b => b.byteLength)`, chromedp.EvalAwaitPromise))
		if err != nil || size != len(bulk()) {
			t.Errorf("%s/bulk has %d bytes, %v", url, size, err)
		}
		word, err := chromedp.Run(b.tab, chromedp.Evaluate[string](talk, chromedp.EvalAwaitPromise))
		if err != nil || word != "word" {
			t.Errorf("%s/echo says %q, %v", url, word, err)
		}
	}
}

// startBrowser runs a Chromium until the test ends, and waits until it is gone.
func startBrowser(t *testing.T, proxy string) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir()),
		chromedp.ProxyServer(proxy), chromedp.Flag("proxy-bypass-list", "<-loopback>"), chromedp.Flag("ignore-certificate-errors", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	ctx, endProcess := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(endProcess)
	ctx, endBrowser := chromedp.NewContext(ctx)
	t.Cleanup(endBrowser)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("end Chromium: %v", err)
		}
	})
	b := &browser{tab: ctx}
	if err := chromedp.Listen(ctx, b.see); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, call(fetch.Enable, fetch.EnableParams{HandleAuthRequests: new(true)})); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return b
}

// see lets every request pass, and answers every challenge of a proxy.
func (b *browser) see(event any) {
	switch e := event.(type) {
	case *fetch.EventRequestPaused:
		go func() {
			_ = chromedp.Do(b.tab, call(fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID}))
		}()
	case *fetch.EventAuthRequired:
		b.challenges.Add(1)
		answer := &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
		if e.AuthChallenge.Source == fetch.AuthChallengeSourceProxy && e.AuthChallenge.Realm == "gatehouse" {
			answer = &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: "bob", Password: "s3cr/t:@"}
		}
		go func() {
			_ = chromedp.Do(b.tab, call(fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{RequestID: e.RequestID, AuthChallengeResponse: answer}))
		}()
	}
}

func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium is installed (run: make chromium)")
	return ""
}
