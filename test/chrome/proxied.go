package chrome

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
)

// Proxied is a Chromium that reaches everything, loopback too, through a proxy.
type Proxied struct {
	tab                context.Context
	username, password string
	challenges         atomic.Int64
}

// Through starts a Chromium that uses a proxy, SCHEME://HOST:PORT, until the test ends. It
// shows the username and password to a proxy of Gatehouse that asks, and to nobody else.
func Through(t *testing.T, proxy, username, password string) *Proxied {
	t.Helper()
	b := &Proxied{username: username, password: password}
	b.tab = Start(t, chromedp.ProxyServer(proxy),
		chromedp.Flag("proxy-bypass-list", "<-loopback>"), chromedp.Flag("ignore-certificate-errors", true))
	if err := chromedp.Listen(b.tab, b.see); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(b.tab, Call(fetch.Enable, fetch.EnableParams{HandleAuthRequests: new(true)})); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return b
}

// Challenges is how often it was asked who it is.
func (b *Proxied) Challenges() int64 { return b.challenges.Load() }

// Open loads a page.
func (b *Proxied) Open(url string) error { return chromedp.Do(b.tab, chromedp.Navigate(url)) }

// Evaluate returns what a script, or its promise, yields in the page.
func Evaluate[T any](b *Proxied, script string) (T, error) {
	return chromedp.Run(b.tab, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// see lets every request pass, and answers every challenge of a proxy.
func (b *Proxied) see(event any) {
	switch e := event.(type) {
	case *fetch.EventRequestPaused:
		go func() {
			_ = chromedp.Do(b.tab, Call(fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID}))
		}()
	case *fetch.EventAuthRequired:
		b.challenges.Add(1)
		answer := &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
		if e.AuthChallenge.Source == fetch.AuthChallengeSourceProxy && e.AuthChallenge.Realm == "gatehouse" {
			answer = &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: b.username, Password: b.password}
		}
		go func() {
			_ = chromedp.Do(b.tab, Call(fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{RequestID: e.RequestID, AuthChallengeResponse: answer}))
		}()
	}
}
