package crawlers

import (
	"context"
	"crypto/tls"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/crawl"
)

// playTime bounds what one client does.
const playTime = 3 * time.Minute

// limit is how many pages a target gives to an address, pages how many are crawled.
const limit, pages = 3, 8

// world is a fleet with its proxies.
type world struct {
	*crawl.Fleet
	proxies []egress.Proxy
}

// newWorld starts a fleet whose proxies reach these addresses, and waits until all of them
// can be leased.
func newWorld(t *testing.T, names []string, addresses string, health *crawl.Target) *world {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // proxies look for their files as another user
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), playTime)
	defer cancel()
	f, err := crawl.Open(ctx, crawl.Options{
		Binary: filepath.Join(os.Getenv(programs), "gatehouse"), Dir: dir, Names: names,
		Health: health.URL + "/health", Destinations: addresses, Flags: []string{"--process-network", "on"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(f.Log)
		}
	})
	w := &world{Fleet: f}
	if w.proxies, err = f.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return w
}

func newTarget(t *testing.T, address string, refusal int) *crawl.Target {
	t.Helper()
	return openTarget(t, address, refusal, nil)
}

// newSecureTarget is one of HTTPS, with a certificate of an authority that is in the file.
func newSecureTarget(t *testing.T, address string, refusal int, authority string) *crawl.Target {
	t.Helper()
	valid := tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour)
	ca, err := tlsutil.NewCA("targets", valid)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Leaf(valid, address)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := pair.TLS()
	if err == nil {
		err = os.WriteFile(authority, ca.Cert, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return openTarget(t, address, refusal, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
}

func openTarget(t *testing.T, address string, refusal int, secure *tls.Config) *crawl.Target {
	t.Helper()
	it, err := crawl.OpenTarget(t.Context(), address+":0", limit, refusal, secure)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := it.Close(); err != nil {
			t.Error(err)
		}
	})
	return it
}

// run runs a client, and returns what it says.
func (w *world) run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "DISCOVERY_TOKEN="+w.Token)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	return string(out)
}

// crawled asserts that the client got every page once, each from the address of a proxy,
// of which several were banned on the way.
func (w *world) crawled(t *testing.T, it *crawl.Target, said string) {
	t.Helper()
	got := make(map[string]int)
	from, banned := make(map[string]bool), make(map[string]bool)
	for _, v := range it.Visits() {
		if !slices.ContainsFunc(w.proxies, func(p egress.Proxy) bool { return p.Host == v.Source }) {
			t.Errorf("%s was asked for from %s, which is no proxy", v.Path, v.Source)
		}
		if v.Status == it.Refusal {
			banned[v.Source] = true
			continue
		}
		got[v.Path]++
		from[v.Source] = true
	}
	for path, times := range got {
		if times != 1 {
			t.Errorf("%s was got %d times", path, times)
		}
	}
	if len(got) != pages || len(from) != 3 || len(banned) < 2 {
		t.Errorf("%d pages came from %d addresses, of which %d were banned, want %d from 3 with 2; it says\n%s", len(got), len(from), len(banned), pages, said)
	}
	w.idle(t)
}

// idle asserts that no lease is left.
func (w *world) idle(t *testing.T) {
	t.Helper()
	all, err := w.Client().List(t.Context(), egress.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.ActiveLeases != 0 {
			t.Errorf("%s has %d leases after the end", p.ID(), p.ActiveLeases)
		}
	}
}
