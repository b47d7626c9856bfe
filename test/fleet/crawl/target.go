package crawl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Visit is one request of a page.
type Visit struct {
	Source string // the address that it came from
	Path   string
	Status int
}

// Target is a site that bans: an address gets Limit pages, and refusals after that.
type Target struct {
	// URL has no path, for example http://127.0.0.1:8200.
	URL   string
	Limit int
	// Refusal is the status of refusals, 403 or 429.
	Refusal int

	server *http.Server
	served sync.WaitGroup
	mu     sync.Mutex
	counts map[string]int
	visits []Visit
}

// OpenTarget serves at an address, whose port may be 0. With a configuration of TLS it is
// one of HTTPS.
func OpenTarget(ctx context.Context, address string, limit, refusal int, secure *tls.Config) (*Target, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	t := &Target{URL: "http://" + l.Addr().String(), Limit: limit, Refusal: refusal, counts: make(map[string]int)}
	if secure != nil {
		t.URL, l = "https://"+l.Addr().String(), tls.NewListener(l, secure)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /page/{n}", t.page)
	t.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	t.served.Go(func() { _ = t.server.Serve(l) })
	return t, nil
}

// page answers with its number and with where it was asked from.
func (t *Target) page(w http.ResponseWriter, r *http.Request) {
	source, _, _ := net.SplitHostPort(r.RemoteAddr)
	status := t.count(source, r.URL.Path)
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "3600")
	}
	w.WriteHeader(status)
	if status == http.StatusOK {
		_, _ = fmt.Fprintf(w, "page %s for %s\n", r.PathValue("n"), source)
		return
	}
	_, _ = fmt.Fprintf(w, "%s has had its %d pages\n", source, t.Limit)
}

func (t *Target) count(source, path string) (status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	status = http.StatusOK
	if t.counts[source]++; t.counts[source] > t.Limit {
		status = t.Refusal
	}
	t.visits = append(t.visits, Visit{source, path, status})
	return status
}

// Visits are all so far.
func (t *Target) Visits() []Visit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.visits)
}

// Host is the name that leases are for.
func (t *Target) Host() string {
	_, address, _ := strings.Cut(t.URL, "://")
	host, _, _ := net.SplitHostPort(address)
	return host
}

// Close ends it.
func (t *Target) Close() error {
	err := t.server.Close()
	t.served.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
