package proxytest

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena/arenatest"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

const (
	// patience bounds every wait of the tests; nothing comes near it.
	patience = 20 * time.Second
	poll     = time.Millisecond
)

// Leg is a proxy under test with its backends. Its methods fail the test.
type Leg struct {
	proxy.Proxy
	t     testing.TB
	arena *arena.Arena
	ids   atomic.Uint64
}

// Options returns what a proxy is made from: an empty directory, and this test binary
// as Gatehouse.
func Options(t testing.TB, d proxy.Description) proxy.Options {
	t.Helper()
	program, err := d.Find()
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	return proxy.Options{Dir: t.TempDir(), Program: program, Gatehouse: self, Log: &logged{t: t}}
}

// Start starts a proxy. The test ends it, and fails if anything of it is left.
func Start(t testing.TB, d proxy.Description, o proxy.Options) *Leg {
	t.Helper()
	before := Processes(t)
	l := &Leg{Proxy: d.New(o), t: t, arena: newArena(t)}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, l.Proxy.Start(ctx))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := l.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		must(t, l.arena.Close())
		NothingLeft(t, before)
	})
	return l
}

func newArena(t testing.TB) *arena.Arena {
	t.Helper()
	began := time.Now()
	a, err := arena.New(arena.Options{
		Backend: arenatest.Backend(),
		Now:     func() lab.Moment { return lab.Moment(time.Since(began)) },
		Died:    func(err error) { t.Error(err) },
	})
	must(t, err)
	return a
}

// Backend names the n-th backend, from 1.
func Backend(n int) proxy.Backend {
	return proxy.Backend{Name: "b" + strconv.Itoa(n), Address: netip.AddrFrom4([4]byte{10, 0, byte(1 + n/250), byte(1 + n%250)})}
}

// Backends are several, by their numbers.
func Backends(ns ...int) []proxy.Backend {
	var all []proxy.Backend
	for _, n := range ns {
		all = append(all, Backend(n))
	}
	return all
}

// Run starts backends.
func (l *Leg) Run(backends ...proxy.Backend) {
	l.t.Helper()
	for _, b := range backends {
		must(l.t, l.arena.StartBackend(l.t.Context(), b.Name, b.Address))
	}
}

// Kill ends a backend and waits until its connections are reset and new ones refused.
func (l *Leg) Kill(b proxy.Backend) {
	l.t.Helper()
	before := len(entries(l.t))
	must(l.t, l.arena.EndBackend(b.Name, lab.Kill))
	// A process is a zombie as soon as its first thread has ended; its connections
	// end with the last one, and then it is waited for.
	Until(l.t, func(context.Context) error {
		if len(entries(l.t)) >= before {
			return fmt.Errorf("backend %s does not end", b.Name)
		}
		return nil
	})
}

// Tell updates the proxy and does not wait.
func (l *Leg) Tell(backends ...proxy.Backend) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	must(l.t, l.Update(ctx, backends))
}

// Believes waits until the proxy believes in exactly these.
func (l *Leg) Believes(backends ...proxy.Backend) {
	l.t.Helper()
	want := addresses(backends)
	Until(l.t, func(ctx context.Context) error {
		got, err := l.Belief(ctx)
		if err == nil && (!slices.Equal(got.All, want) || !slices.Equal(got.Some, want)) {
			err = fmt.Errorf("it believes in all %v, some %v; want %v", got.All, got.Some, want)
		}
		return err
	})
}

func addresses(backends []proxy.Backend) []netip.Addr {
	var all []netip.Addr
	for _, b := range backends {
		all = append(all, b.Address)
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return all
}

// Answer is what became of one request.
type Answer struct {
	ID      uint64
	Status  int
	Backend string // who answered; empty for the proxy itself
}

// Ask sends one request on a connection of its own, as the load does.
func (l *Leg) Ask(ctx context.Context) (Answer, error) {
	a := Answer{ID: l.ids.Add(1)}
	id := strconv.FormatUint(a.ID, 10)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+proxy.ListenAddress+"/"+id, nil)
	if err != nil {
		return a, err
	}
	request.Header.Set(proxy.HeaderRequest, id)
	response, err := proxy.Fresh("").Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	a.Status, a.Backend = response.StatusCode, response.Header.Get(proxy.HeaderBackend)
	if echo := response.Header.Get(proxy.HeaderRequest); a.Backend != "" && echo != id {
		return a, fmt.Errorf("backend %s was asked for request %q instead of %s", a.Backend, echo, id)
	}
	return a, nil
}

// Reaches waits until many requests in a row reach exactly these backends, each of
// them at least once, and returns the answers.
func (l *Leg) Reaches(backends ...proxy.Backend) []Answer {
	l.t.Helper()
	const inARow = 30
	var row []Answer
	Until(l.t, func(ctx context.Context) error {
		row = nil
		missing := map[string]bool{}
		for _, b := range backends {
			missing[b.Name] = true
		}
		for len(row) < inARow {
			a, err := l.Ask(ctx)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(backends, func(b proxy.Backend) bool { return b.Name == a.Backend }) {
				return fmt.Errorf("request %d: status %d from %q, want one of %v", a.ID, a.Status, a.Backend, backends)
			}
			delete(missing, a.Backend)
			row = append(row, a)
		}
		if len(missing) > 0 {
			return fmt.Errorf("%d requests in a row reached none of %v", inARow, missing)
		}
		return nil
	})
	return row
}

// Fails waits until a request gets an error status from the proxy itself.
func (l *Leg) Fails() Answer {
	l.t.Helper()
	var a Answer
	Until(l.t, func(ctx context.Context) error {
		var err error
		if a, err = l.Ask(ctx); err == nil && (a.Backend != "" || a.Status < 500) {
			err = fmt.Errorf("status %d from %q, want an error status from the proxy", a.Status, a.Backend)
		}
		return err
	})
	return a
}

// Until calls check until it returns nil, and fails the test when that takes too long.
func Until(t testing.TB, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var err error
	for {
		last := check(ctx)
		if last == nil {
			return
		}
		if err == nil || ctx.Err() == nil { // that time is over explains nothing
			err = last
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("gave up after %s: %v", patience, err)
		}
	}
}

// logged writes what programs say to the test's log while the test runs.
type logged struct{ t testing.TB }

// Write implements [io.Writer].
func (l *logged) Write(line []byte) (int, error) {
	if l.t.Context().Err() == nil {
		l.t.Log(strings.TrimSpace(string(line)))
	}
	return len(line), nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
