package crawlers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/crawl"
)

// line is what the spider says of a page, or at its end.
type line struct {
	Page   int
	Status int
	Proxy  string
	Error  string
	Text   string
	Stats  map[string]int
}

// spider runs the spider, and returns its lines.
func (w *world) spider(t *testing.T, it *crawl.Target, count int, settings ...string) (lines []line) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), playTime)
	defer cancel()
	cmd := spider(settings...)(ctx, t, w, it)
	cmd.Args[len(cmd.Args)-len(settings)-1] = strconv.Itoa(count)
	said := w.run(t, cmd)
	for scan := bufio.NewScanner(strings.NewReader(said)); scan.Scan(); {
		var l line
		if json.Unmarshal(scan.Bytes(), &l) == nil {
			lines = append(lines, l)
		}
	}
	if len(lines) != count+1 {
		t.Fatalf("it tells of %d of %d pages:\n%s", len(lines)-1, count, said)
	}
	return lines
}

// TestScrapyInTrouble: what becomes of requests when all proxies rest, when a proxy dies,
// and when proxies speak what Scrapy does not.
func TestScrapyInTrouble(t *testing.T) {
	if !chosen("scrapy-in-trouble", true) || !alone(t, "203.0.113.9", "203.0.113.10", "203.0.113.11", "203.0.113.12", "203.0.113.13") {
		return
	}
	health := newTarget(t, "203.0.113.9", 403)
	w := newWorld(t, []string{"dies", "lives", "socks"}, "203.0.113.0/24", health)
	t.Run("rests", func(t *testing.T) { w.allRest(t, newTarget(t, "203.0.113.10", 403)) })
	t.Run("elsewhere", func(t *testing.T) { w.elsewhere(t, newTarget(t, "203.0.113.11", 403)) })
	t.Run("keeps", func(t *testing.T) { w.keeps(t, newTarget(t, "203.0.113.13", 403)) })
	t.Run("dies", func(t *testing.T) { w.oneDies(t, newTarget(t, "203.0.113.12", 403)) })
	w.idle(t)
}

// allRest: two proxies of HTTP give their pages; then no request goes without a proxy.
func (w *world) allRest(t *testing.T, it *crawl.Target) {
	t.Helper()
	good, none := 0, 0
	lines := w.spider(t, it, 2*limit+3, "GATEHOUSE_EGRESS_WAIT=0.2", `GATEHOUSE_EGRESS_SELECTOR={"scheme":"http"}`)
	for _, l := range lines {
		switch {
		case l.Status == 200:
			good++
		case l.Error == "NoMatch" && strings.Contains(l.Text, "2 cooling down"):
			none++
		}
	}
	if good != 2*limit || none != 3 {
		t.Errorf("%d pages and %d times no proxy, want %d and 3: %+v", good, none, 2*limit, lines)
	}
}

// elsewhere: a proxy of SOCKS5 is passed over, and is said to be where there is no other.
func (w *world) elsewhere(t *testing.T, it *crawl.Target) {
	t.Helper()
	alone := w.spider(t, it, 1, "GATEHOUSE_EGRESS_WAIT=0.2", `GATEHOUSE_EGRESS_SELECTOR={"scheme":"socks5"}`)[0]
	if alone.Error != "NoMatch" || !strings.Contains(alone.Text, "crawl/socks were passed over") {
		t.Errorf("SOCKS5 alone gives %+v", alone)
	}
	for _, l := range w.spider(t, it, 2*limit)[:2*limit] {
		if l.Status != 200 || l.Proxy == "crawl/socks" {
			t.Errorf("beside others: %+v", l)
		}
	}
}

// keeps: a lease is renewed for as long as requests go through it.
func (w *world) keeps(t *testing.T, it *crawl.Target) {
	t.Helper()
	lines := w.spider(t, it, limit, "GATEHOUSE_EGRESS_TTL=4", "DOWNLOAD_DELAY=3", "RANDOMIZE_DOWNLOAD_DELAY=false", `GATEHOUSE_EGRESS_SELECTOR={"scheme":"http"}`)
	if stats := lines[limit].Stats; stats["leases"] != 1 {
		t.Errorf("it counts %v, want one lease for all of more than six seconds", stats)
	}
}

// oneDies: the fleet has not noticed yet, and the request goes again through another proxy.
func (w *world) oneDies(t *testing.T, it *crawl.Target) {
	t.Helper()
	// The proxy with fewer leases is granted first.
	lives, err := w.Client().Acquire(t.Context(), egress.Request{Selector: map[string]string{"scheme": "http"}, Exclude: []string{"crawl/dies"}})
	if err != nil {
		t.Fatal(err)
	}
	pid := w.process(t, "dies")
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	lines := w.spider(t, it, limit, `GATEHOUSE_EGRESS_SELECTOR={"scheme":"http"}`, "DOWNLOAD_TIMEOUT=5")
	if err := errors.Join(syscall.Kill(pid, syscall.SIGCONT), lives.Release(t.Context())); err != nil {
		t.Error(err)
	}
	for _, l := range lines[:limit] {
		if l.Status != 200 || l.Proxy != "crawl/lives" {
			t.Errorf("page %d: %+v", l.Page, l)
		}
	}
	if stats := lines[limit].Stats; stats["failed"] < 1 || stats["leases"] < 2 {
		t.Errorf("it counts %v, want failures of the proxy that died", stats)
	}
}

// process is the one of a proxy.
func (w *world) process(t *testing.T, name string) int {
	t.Helper()
	for _, one := range w.Instances() {
		var kept struct {
			Address string
			Process struct{ PID int }
		}
		text, err := os.ReadFile(filepath.Join(one, "instance.json"))
		if err == nil {
			err = json.Unmarshal(text, &kept)
		}
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(w.proxies, func(p egress.Proxy) bool { return p.Name == name && p.Host == kept.Address }) {
			return kept.Process.PID
		}
	}
	t.Fatalf("no instance is that of %s", name)
	return 0
}
