package report_test

import (
	"context"
	_ "embed" // what is asked of a page
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/gatehouse-proxy/gatehouse/test/chrome"
)

// TestPagesInABrowser loads every page from a file in a real Chromium, in light and
// dark, on a desk and on a telephone.
func TestPagesInABrowser(t *testing.T) {
	browser := chrome.Start(t)
	for name, r := range results() {
		path := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(path, []byte(pageOf(t, r)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390} {
				t.Run(strings.Join([]string{name, scheme, map[int64]string{1280: "desk", 390: "telephone"}[width]}, "/"), func(t *testing.T) {
					seen := look(browser, t, "file://"+(&url.URL{Path: path}).EscapedPath(), scheme, width)
					seen.check(t, len(r.Proxies), width)
				})
			}
		}
	}
}

// seen is what a browser saw of a page.
type seen struct {
	messages, requests []string
	asked
}

// asked is what ask.js returns.
type asked struct {
	Proxies  int      // sections, drawn or not run
	Scroll   int      // how wide the page is
	Dark     bool     // whether its ground is
	Problems []string // each a sentence
	Texts    int      // texts whose contrast was computed
}

func (s seen) check(t *testing.T, proxies int, width int64) {
	t.Helper()
	if len(s.messages) > 0 || len(s.requests) != 1 {
		t.Errorf("console %q, requests %q", s.messages, s.requests)
	}
	if int64(s.Scroll) > width {
		t.Errorf("the page is %d pixels wide, the window %d", s.Scroll, width)
	}
	if s.Proxies != proxies || s.Texts < 10 {
		t.Errorf("%d proxies of %d, %d texts", s.Proxies, proxies, s.Texts)
	}
	if dark := strings.Contains(t.Name(), "/dark/"); s.Dark != dark {
		t.Errorf("dark is %t", s.Dark)
	}
	for _, problem := range s.Problems[:min(len(s.Problems), 10)] {
		t.Error(problem)
	}
}

//go:embed testdata/ask.js
var ask string

func look(browser context.Context, t *testing.T, address, scheme string, width int64) (s seen) {
	t.Helper()
	tab, end := chromedp.NewContext(browser)
	t.Cleanup(end)
	var mu sync.Mutex
	if err := chromedp.Listen(tab, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		s.see(event)
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tab, time.Minute)
	t.Cleanup(cancel)
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	err := chromedp.Do(ctx,
		chrome.Call(network.Enable, network.EnableParams{}), chrome.Call(log.Enable, cdp.Empty{}), chrome.Call(runtime.Enable, cdp.Empty{}),
		chrome.Call(emulation.SetEmulatedMedia, media), chromedp.EmulateViewport(width, 900), chromedp.Navigate(address))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := chromedp.Run(ctx, chromedp.Evaluate[asked](ask))
	if err != nil {
		t.Fatal(err)
	}
	keep(ctx, t)
	mu.Lock()
	defer mu.Unlock()
	s.asked = answer
	return s
}

func (s *seen) see(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		s.requests = append(s.requests, e.Request.URL)
	case *log.EventEntryAdded:
		s.messages = append(s.messages, e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		s.messages = append(s.messages, string(e.Type))
	case *runtime.EventExceptionThrown:
		s.messages = append(s.messages, e.ExceptionDetails.Text)
	case *page.EventJavascriptDialogOpening:
		s.messages = append(s.messages, "dialog: "+e.Message)
	}
}

// keep writes a picture of the page where REPORT_PICTURES says, for people to look at.
func keep(ctx context.Context, t *testing.T) {
	t.Helper()
	dir := os.Getenv("REPORT_PICTURES")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ReplaceAll(strings.TrimPrefix(t.Name(), "TestPagesInABrowser/"), "/", "-") + ".png"
	if err := os.WriteFile(filepath.Join(dir, name), picture, 0o600); err != nil {
		t.Fatal(err)
	}
}
