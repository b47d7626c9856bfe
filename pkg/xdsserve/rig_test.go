package xdsserve_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	group    = "edge"
	patience = 20 * time.Second
)

// rig is a Server on a Unix socket, with a log of its events.
type rig struct {
	*xdsserve.Server
	t      testing.TB
	dir    string
	socket string
	log    *eventLog
	stop   func()
	cut    func() // breaks the connections
	// bootstrap is what its Envoys start with, and drain their drain time in seconds.
	bootstrap, drain string
}

func newRig(t testing.TB, o xdsserve.Options) *rig {
	t.Helper()
	// Not t.TempDir: the path of a socket has at most 107 bytes.
	dir, err := os.MkdirTemp("", "xds")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &rig{t: t, dir: dir, socket: filepath.Join(dir, "s"), log: newEventLog(t), bootstrap: bootstrap, drain: "10"}
	r.start(o)
	t.Cleanup(func() { r.stop() })
	return r
}

// start serves on the rig's socket, also again after stop.
func (r *rig) start(o xdsserve.Options) {
	r.t.Helper()
	o.Observe = r.log.add
	r.Server = xdsserve.New(o)
	must(r.t, os.RemoveAll(r.socket))
	socket, err := net.Listen("unix", r.socket)
	must(r.t, err)
	l := &fragile{Listener: socket}
	r.cut = l.cut
	g := grpc.NewServer(xdsserve.ServerOptions(0)...)
	discovery_v3.RegisterAggregatedDiscoveryServiceServer(g, r.Server)
	var serving sync.WaitGroup
	serving.Go(func() { _ = g.Serve(l) })
	server := r.Server
	r.stop = sync.OnceFunc(func() {
		server.Close()
		g.Stop()
		serving.Wait()
	})
}

// settle waits until n proxies of the group have answered everything up to seq.
func (r *rig) settle(seq uint64, n int) {
	r.t.Helper()
	r.log.until(func([]xdsserve.Event) bool {
		beliefs := r.Ledger(group)
		return len(beliefs) == n && !slices.ContainsFunc(beliefs, func(b xdsserve.Belief) bool { return b.Seq < seq })
	})
}

// set publishes resources and waits for the one proxy to answer for them.
func (r *rig) set(rs ...xdsserve.Resource) {
	r.t.Helper()
	r.settle(r.Publish(xdsserve.Update{Set: rs}), 1)
}

// eventLog keeps events in order.
type eventLog struct {
	t      testing.TB
	mu     sync.Mutex
	events []xdsserve.Event
	// patience is how long it waits for an event.
	patience time.Duration
	news     chan struct{}                 // closed at the next event
	on       map[xdsserve.EventKind]func() // what to do at the next of a kind
}

// cutAt does something once, at the next event of a kind, before anything follows it.
func (l *eventLog) cutAt(k xdsserve.EventKind, do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on = map[xdsserve.EventKind]func(){k: do}
}

func newEventLog(t testing.TB) *eventLog {
	return &eventLog{t: t, news: make(chan struct{}), patience: patience}
}

func (l *eventLog) add(e xdsserve.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	if do := l.on[e.Kind]; do != nil {
		do()
		delete(l.on, e.Kind)
	}
	close(l.news)
	l.news = make(chan struct{})
}

func (l *eventLog) all() ([]xdsserve.Event, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events), l.news
}

// mark returns the position behind the last event.
func (l *eventLog) mark() int {
	events, _ := l.all()
	return len(events)
}

func (l *eventLog) since(mark int) []xdsserve.Event {
	events, _ := l.all()
	return events[mark:]
}

// until waits until done holds; it is asked after each event.
func (l *eventLog) until(done func([]xdsserve.Event) bool) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), l.patience)
	defer cancel()
	for {
		events, news := l.all()
		if done(events) {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			l.t.Fatalf("gave up after %v; events:\n%s", l.patience, lines(events))
		}
	}
}

// untilEvent waits for an event behind a mark and returns it.
func (l *eventLog) untilEvent(mark int, match func(xdsserve.Event) bool) xdsserve.Event {
	l.t.Helper()
	var found xdsserve.Event
	l.until(func(events []xdsserve.Event) bool {
		i := slices.IndexFunc(events[mark:], match)
		if i >= 0 {
			found = events[mark+i]
		}
		return i >= 0
	})
	return found
}

func is(k xdsserve.EventKind, typ xdsserve.Type, names ...string) func(xdsserve.Event) bool {
	return func(e xdsserve.Event) bool {
		return e.Kind == k && e.Type == typ && slices.Equal(e.Names, names)
	}
}

func removes(k xdsserve.EventKind, typ xdsserve.Type, name string) func(xdsserve.Event) bool {
	return func(e xdsserve.Event) bool {
		return e.Kind == k && e.Type == typ && slices.Contains(e.Removed, name)
	}
}

// lines prints events, one a line, without times.
func lines(events []xdsserve.Event) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(line(e) + "\n")
	}
	return b.String()
}

func line(e xdsserve.Event) string {
	words := []string{string(e.Kind)}
	if e.Type != "" {
		words = append(words, string(e.Type[strings.LastIndex(string(e.Type), ".")+1:]))
	}
	words = append(words, short(e.Names)...)
	for _, r := range short(e.Removed) {
		words = append(words, "-"+r)
	}
	if e.Message != "" {
		words = append(words, "("+e.Message+")")
	}
	return strings.Join(words, " ")
}

func short(names []string) []string {
	if len(names) > 8 {
		return append(slices.Clone(names[:8]), "…")
	}
	return names
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
