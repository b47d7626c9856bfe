package host

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		childMain()
	}
	goleak.VerifyTestMain(m)
}

const (
	edge = model.GatewayID("shop/edge")
	// patience bounds every wait of the tests; nothing comes near it.
	patience = 20 * time.Second
)

// rig is a control plane with fixed resources, and the options of a Supervisor that uses it.
type rig struct {
	options Options
	// address is where the proxies listen: a loopback address of this rig's own,
	// so that the port is the same for every process and free.
	address   string
	resources []resource
	ads       *ads
	events    *eventLog
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigWith(t, func(address string) []resource {
		return []resource{httpListener("web", address, direct("hello"))}
	})
}

// newSlowRig holds each request for so long.
func newSlowRig(t *testing.T, delay time.Duration) *rig {
	t.Helper()
	return newRigWith(t, func(address string) []resource {
		return []resource{httpListener("web", address, direct("slow"), delayed(delay))}
	})
}

func newRigWith(t *testing.T, resources func(address string) []resource) *rig {
	t.Helper()
	r := &rig{
		address: fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(250), rand.IntN(250), 1+rand.IntN(250)),
		events:  newEventLog(),
	}
	state := filepath.Join(t.TempDir(), "state")
	sockets, err := SocketDir(state)
	if err != nil {
		t.Fatal(err)
	}
	r.options = Options{
		Envoy: envoyBinary(t), StateDir: state, XDSSocket: filepath.Join(sockets, "xds.sock"),
		Observe: r.events.add, Jitter: func() float64 { return 0 },
	}
	t.Cleanup(func() {
		if err := RemoveSocketDir(sockets); err != nil {
			t.Error(err)
		}
	})
	r.resources = resources(r.address)
	r.ads = r.serve(t)
	return r
}

func envoyBinary(t *testing.T) string {
	t.Helper()
	path, _, err := FindEnvoy("")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// serve starts the control plane; it ends with the test at the latest.
func (r *rig) serve(t *testing.T) *ads {
	t.Helper()
	return r.serveOnly(t, r.resources)
}

// serveOnly serves other resources than all, or none yet.
func (r *rig) serveOnly(t *testing.T, resources []resource) *ads {
	t.Helper()
	a, err := serveADS(r.options.XDSSocket, resources)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.stop)
	return a
}

// start returns a Supervisor that is stopped, without draining, when the test ends.
func (r *rig) start(t *testing.T, gateways ...model.Gateway) *Supervisor {
	t.Helper()
	s, err := New(t.Context(), r.options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Ensure(nil) // not even a kept process outlives the test
		stopNow(t, s)
	})
	s.Ensure(gateways)
	return s
}

func stopNow(t *testing.T, s *Supervisor) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func stop(t *testing.T, s *Supervisor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func gateway(id model.GatewayID) model.Gateway {
	return model.Gateway{ID: id, Settings: model.Settings{Concurrency: 1}}
}

// eventLog keeps events and lets a test wait for one.
type eventLog struct {
	mu     sync.Mutex
	events []Event
	more   chan struct{} // closed and replaced with every event
}

func newEventLog() *eventLog { return &eventLog{more: make(chan struct{})} }

func (l *eventLog) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	close(l.more)
	l.more = make(chan struct{})
}

// next waits for the first event of a kind and takes it and all before it away.
func (l *eventLog) next(t *testing.T, kind EventKind) Event {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		l.mu.Lock()
		for i, e := range l.events {
			if e.Kind == kind {
				l.events = l.events[i+1:]
				l.mu.Unlock()
				return e
			}
		}
		seen, more := l.events, l.more
		l.mu.Unlock()
		select {
		case <-more:
		case <-deadline.C:
			t.Fatalf("no event %q in %s; saw %+v", kind, patience, seen)
		}
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-poll.C {
		if time.Now().After(deadline) {
			t.Fatalf("not in %s: %s", patience, what)
		}
	}
}

// alive reports whether a process runs.
func alive(pid int) bool {
	_, err := startTicks(pid)
	return err == nil
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, fmt.Sprintf("process %d has ended", pid), func() bool { return !alive(pid) })
}

// killLater makes sure that a process that is to outlive its Supervisor does not outlive the test.
func killLater(t *testing.T, pid int) {
	t.Helper()
	ticks, err := startTicks(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if pidfd, err := openPidfd(pid, ticks); err == nil {
			_ = signal(pidfd, unix.SIGKILL)
			pidfd.Close()
		}
	})
}

func (r *rig) url() string { return fmt.Sprintf("http://%s:%d/", r.address, testPort) }

// get makes one request on a connection of its own.
func get(ctx context.Context, url string) (string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return getWith(ctx, client, url)
}

func getWith(ctx context.Context, client *http.Client, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return string(body), err
}

func (r *rig) mustGet(t *testing.T) string {
	t.Helper()
	body, err := get(t.Context(), r.url())
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// traffic sends requests, one after the other and at most two a millisecond, until it is stopped.
type traffic struct {
	cancel   context.CancelFunc
	done     sync.WaitGroup
	requests atomic.Int64
	failed   atomic.Int64
	first    error // of the failures
}

func (r *rig) traffic(t *testing.T) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &traffic{cancel: cancel}
	kept := &http.Client{Transport: &http.Transport{}}
	f.done.Go(func() {
		defer kept.CloseIdleConnections()
		pace := time.NewTicker(time.Millisecond)
		defer pace.Stop()
		for ; ctx.Err() == nil; <-pace.C {
			_, err := getWith(ctx, kept, r.url())
			if err == nil {
				_, err = get(ctx, r.url())
			}
			f.requests.Add(2)
			if err != nil && ctx.Err() == nil && f.failed.Add(1) == 1 {
				f.first = err
			}
		}
	})
	t.Cleanup(func() { f.stop() })
	return f
}

func (f *traffic) stop() (requests, failed int64, first error) {
	f.cancel()
	f.done.Wait()
	return f.requests.Load(), f.failed.Load(), f.first
}

// reach waits until so many requests were sent.
func (f *traffic) reach(t *testing.T, requests int64) {
	t.Helper()
	eventually(t, "the load goes on", func() bool { return f.requests.Load() >= requests })
}
