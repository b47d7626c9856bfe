package arena_test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena/arenatest"
)

// TestServing: spans lie between the moments at which a backend was started and ended.
func TestServing(t *testing.T) {
	clock := newClock()
	a := newArenaAt(t, clock, 0)
	var moments []lab.Moment
	then := func(do func()) {
		do()
		moments = append(moments, clock())
	}
	then(func() {})
	then(func() { start(t, a, "one", "10.0.1.11") })
	then(func() { end(t, a, "one", lab.Vanish) })
	then(func() { start(t, a, "two", "10.0.1.11") })
	got := a.Serving()
	then(func() {})
	if len(got) != 2 || got[0].Backend != "one" || got[1].Backend != "two" {
		t.Fatalf("%v, want one and two", got)
	}
	for i, m := range []lab.Moment{got[0].From, got[0].To, got[1].From, got[1].To} {
		if m < moments[i] || m > moments[i+1] {
			t.Errorf("moment %d is %v, want from %v to %v", i, m, moments[i], moments[i+1])
		}
	}
}

func TestWhatCannotStart(t *testing.T) {
	a := newArena(t)
	start(t, a, "one", "10.0.1.11")
	for _, test := range []struct{ name, address, want string }{
		{"one", "10.0.1.12", "backend one runs already"},
		{"two", "10.0.1.11", "address 10.0.1.11 is that of backend one"},
		{"two", "192.0.2.1", "must be in 10.0.0.0/8"},
		{"two", "10.0.0.1", "not be 10.0.0.1"},
		{"two", "::1", "must be in 10.0.0.0/8"},
	} {
		err := a.StartBackend(t.Context(), test.name, netip.MustParseAddr(test.address))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s at %s: %v, want %q", test.name, test.address, err, test.want)
		}
	}
	if err := a.EndBackend("two", lab.Kill); err == nil || !strings.Contains(err.Error(), "two does not run") {
		t.Errorf("end of what does not run: %v", err)
	}
}

// TestAProgramThatIsNoBackend: the error says what it said, and the name is free again.
func TestAProgramThatIsNoBackend(t *testing.T) {
	a := open(t, arena.Options{Backend: []string{"/bin/sh", "-c", "echo no such command >&2; exit 2"}, Now: newClock()})
	for range 2 {
		err := a.StartBackend(t.Context(), "one", netip.MustParseAddr("10.0.1.11"))
		if err == nil || !strings.Contains(err.Error(), "backend one does not listen on 10.0.1.11:8080") || !strings.Contains(err.Error(), "no such command") {
			t.Errorf("%v", err)
		}
	}
	if got := a.Serving(); len(got) != 0 {
		t.Errorf("served: %v", got)
	}
}

// TestABackendThatDies by itself is reported, once, and may be started again.
func TestABackendThatDies(t *testing.T) {
	died := make(chan error, 2)
	a := open(t, arena.Options{Backend: arenatest.Backend(), Now: newClock(), Died: func(err error) { died <- err }})
	start(t, a, "one", "10.0.1.11")
	pids := children(t)
	if len(pids) != 1 {
		t.Fatalf("%v are children, want one", pids)
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-died:
		if want := "backend one at 10.0.1.11 ended by itself: signal: killed"; err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nobody heard of it")
	}
	start(t, a, "one", "10.0.1.11")
	end(t, a, "one", lab.Kill)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if len(died) > 0 {
		t.Errorf("also: %v", <-died)
	}
}

// TestManyAtOnce: a hundred backends, half of them prepared, start and end side by
// side, and nothing of them is left.
func TestManyAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const many = 100
	a := newArena(t)
	if err := a.Prepare(t.Context(), many/2); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			name, address := fmt.Sprint(i), netip.AddrFrom4([4]byte{10, 0, 2, byte(i)})
			if err := a.StartBackend(t.Context(), name, address); err != nil {
				t.Error(err)
			}
			how := []lab.End{lab.Stop, lab.Kill, lab.Vanish, ""}[i%4]
			if how == "" {
				return // until Close
			}
			if err := a.EndBackend(name, how); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := len(a.Serving()); got != many {
		t.Errorf("%d served, want %d", got, many)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
