package crawlers

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/fleet/crawl"
)

// clients are programs that crawl the pages of a target. Each has a target of its own, at
// an address of its own, so that no cooldown of another is in its way.
var clients = []struct {
	name    string
	foreign bool
	refusal int
	crawl   func(ctx context.Context, t *testing.T, w *world, it *crawl.Target) *exec.Cmd
}{
	{name: "urllib", refusal: 403, crawl: example},
	{name: "requests", foreign: true, refusal: 403, crawl: script("with_requests.py")},
	{name: "playwright", foreign: true, refusal: 429, crawl: script("with_playwright.py")},
	{name: "scrapy", foreign: true, refusal: 403, crawl: spider()},
	{name: "scrapy-limited", foreign: true, refusal: 429, crawl: spider(`GATEHOUSE_EGRESS_PER="slot"`)},
}

func TestCrawlers(t *testing.T) {
	t.Parallel()
	const secure = "203.0.113.8"
	addresses := []string{"203.0.113.9"} // of the target that curl asks
	for i := range clients {
		addresses = append(addresses, fmt.Sprintf("203.0.113.%d", 10+i))
	}
	if !alone(t, append(addresses, secure)...) {
		return
	}
	first := newTarget(t, addresses[0], 403)
	w := newWorld(t, []string{"one", "two", "three"}, "203.0.113.0/24", first)
	if chosen("curl", false) {
		t.Run("curl", func(t *testing.T) { w.curl(t, first) })
	}
	if chosen("urllib", false) {
		t.Run("urllib, HTTPS", func(t *testing.T) {
			authority := filepath.Join(t.TempDir(), "ca.pem")
			it := newSecureTarget(t, secure, 403, authority)
			cmd := example(t.Context(), t, w, it)
			cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+authority)
			w.crawled(t, it, w.run(t, cmd))
		})
	}
	for i, c := range clients {
		if !chosen(c.name, c.foreign) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), playTime)
			defer cancel()
			it := newTarget(t, addresses[1+i], c.refusal)
			w.crawled(t, it, w.run(t, c.crawl(ctx, t, w, it)))
		})
	}
}

// example is examples/crawler.
func example(ctx context.Context, _ *testing.T, w *world, it *crawl.Target) *exec.Cmd {
	return python(ctx, []string{library}, "-W", "error", filepath.Join(root, "examples", "crawler", "crawler.py"),
		"--api", "http://"+w.Lease, "--pages", strconv.Itoa(pages), it.URL+"/page/{}")
}

// script is an example of clients/python, which visits one page, for all of them.
func script(name string) func(context.Context, *testing.T, *world, *crawl.Target) *exec.Cmd {
	return func(ctx context.Context, t *testing.T, w *world, it *crawl.Target) *exec.Cmd {
		t.Helper()
		return python(ctx, []string{library, filepath.Join(library, "examples"), packages(ctx, t)}, "all_pages.py",
			strings.TrimSuffix(name, ".py"), "http://"+w.Lease, it.URL+"/page/{}", strconv.Itoa(pages))
	}
}

func spider(settings ...string) func(context.Context, *testing.T, *world, *crawl.Target) *exec.Cmd {
	return func(ctx context.Context, t *testing.T, w *world, it *crawl.Target) *exec.Cmd {
		t.Helper()
		arguments := append([]string{"spider.py", "http://" + w.Lease, it.URL + "/page/{}", strconv.Itoa(pages)}, settings...)
		return python(ctx, []string{library, packages(ctx, t)}, arguments...)
	}
}

// curl leases, crawls, reports and releases as a person would by hand.
func (w *world) curl(t *testing.T, it *crawl.Target) {
	t.Helper()
	for page := 1; page <= pages; {
		var lease struct {
			LeaseID string
			Proxy   struct{ URL, Username, Password string }
		}
		text := w.ask(t, "--json", `{"target":"`+it.Host()+`","ttlSeconds":60}`, "/v1/leases?wait=10s")
		if err := json.Unmarshal([]byte(text), &lease); err != nil || lease.Proxy.Username == "" {
			t.Fatalf("%v: %s", err, text)
		}
		at := "/v1/leases/" + lease.LeaseID
		for ; page <= pages; page++ {
			status := w.run(t, exec.CommandContext(t.Context(), "curl", "-s", "--noproxy", "", "-o", "/dev/null", "-w", "%{http_code}",
				"-x", lease.Proxy.URL, fmt.Sprintf("%s/page/%d", it.URL, page)))
			if status == "403" {
				w.ask(t, "--json", `{"result":"banned"}`, at+"/report")
				break
			}
			if status != "200" {
				t.Fatalf("page %d has status %s", page, status)
			}
		}
		w.ask(t, "-X", "PUT", "--json", `{"ttlSeconds":120}`, at)
		w.ask(t, "-X", "DELETE", at)
	}
	w.crawled(t, it, "")
}

// ask asks the lease API by curl; what it refuses fails the test.
func (w *world) ask(t *testing.T, arguments ...string) string {
	t.Helper()
	last := len(arguments) - 1
	arguments[last] = "http://" + w.Lease + arguments[last]
	arguments = append([]string{"-sS", "--noproxy", "*", "--fail-with-body", "-H", "Authorization: Bearer " + w.Token}, arguments...)
	return w.run(t, exec.CommandContext(t.Context(), "curl", arguments...))
}
