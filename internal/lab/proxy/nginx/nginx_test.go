package nginx_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/nginx"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/proxytest"
)

func TestMain(m *testing.M) { os.Exit(proxytest.Main(m, nil)) }

func TestContract(t *testing.T) {
	proxytest.Contract(t, nginx.Describe(), func(o *proxy.Options, program string) { o.Program = program })
}

// A dead backend costs each worker one try; then it is left alone.
func TestRetriesByDefault(t *testing.T) {
	fate := proxytest.HalfDead(t, nginx.Describe(), false)
	if fate.Failed > 0 || fate.RetriedAway == 0 || fate.MostTries != 2 {
		t.Errorf("%+v, want no failed request, some retried away, 2 tries at most", fate)
	}
}

func TestRetriesOff(t *testing.T) {
	fate := proxytest.HalfDead(t, nginx.Describe(), true)
	if fate.Failed == 0 || fate.RetriedAway > 0 || fate.MostTries != 1 {
		t.Errorf("%+v, want some failed requests, none retried away, 1 try at most", fate)
	}
}

// A file that nginx refuses changes nothing, and its log says why.
func TestARefusedFile(t *testing.T) {
	l := start(t, false)
	l.Tell(proxytest.Backend(1))
	l.Believes(proxytest.Backend(1))

	err := l.Update(t.Context(), []proxy.Backend{{Name: "nowhere"}}) // without an address

	if err == nil || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "nginx -t ended with exit status 1: ") ||
		!strings.Contains(err.Error(), "[emerg]") || !strings.Contains(err.Error(), "nginx.conf.new:") {
		t.Errorf("error %v, want one line with what nginx says", err)
	}
	l.Believes(proxytest.Backend(1))
	l.Tell(proxytest.Backend(2))
	l.Believes(proxytest.Backend(2))
}

// Nginx replaces workers that crash by new ones of the same generation.
func TestWorkersThatCrash(t *testing.T) {
	l := start(t, false)
	l.Tell(proxytest.Backend(1))
	l.Believes(proxytest.Backend(1))
	before := workers(t, l)
	for pid := range before {
		if err := unix.Kill(pid, unix.SIGKILL); !errors.Is(err, unix.ESRCH) { // workers of earlier generations end by themselves
			must(t, err)
		}
	}
	proxytest.Until(t, func(context.Context) error {
		for pid := range workers(t, l) {
			if before[pid] != "" {
				return fmt.Errorf("worker %d is still there", pid)
			}
		}
		return nil
	})
	l.Believes(proxytest.Backend(1))
}

func workers(t *testing.T, l *proxytest.Leg) map[int]string {
	t.Helper()
	all := proxytest.Processes(t)
	for pid, name := range all {
		if pid == l.Processes()[0] || !strings.Contains(name, "nginx") {
			delete(all, pid)
		}
	}
	return all
}

// A worker of an old generation serves, and believes, until its last request has ended.
func TestAnOldWorkerBelievesUntilItsRequestEnds(t *testing.T) {
	old, next := proxytest.Backend(1), proxytest.Backend(2)
	l := start(t, false)
	asked, release := slow(t, l, old)
	l.Tell(old)
	l.Believes(old)
	answered := make(chan proxytest.Answer, 1)
	go func() {
		defer close(answered)
		a, err := l.Ask(t.Context())
		if err != nil {
			t.Error(err)
		}
		answered <- a
	}()
	<-asked

	l.Tell(next)
	believes(t, l, []proxy.Backend{next}, []proxy.Backend{old, next})
	l.Tell(next) // a reload more: the old worker is two generations behind
	believes(t, l, []proxy.Backend{next}, []proxy.Backend{old, next})
	close(release)

	if a := <-answered; a.Backend != old.Name {
		t.Errorf("the request ends as %+v, want an answer of %s", a, old.Name)
	}
	l.Believes(next)
}

// believes waits until exactly these are believed by all, and by some.
func believes(t *testing.T, l *proxytest.Leg, all, some []proxy.Backend) {
	t.Helper()
	proxytest.Until(t, func(ctx context.Context) error {
		b, err := l.Belief(ctx)
		if err == nil && (!slices.Equal(b.All, addresses(all)) || !slices.Equal(b.Some, addresses(some))) {
			err = fmt.Errorf("it believes in all %v, some %v", b.All, b.Some)
		}
		return err
	})
}

func addresses(backends []proxy.Backend) []netip.Addr {
	var all []netip.Addr
	for _, b := range backends {
		all = append(all, b.Address)
	}
	return all
}

func start(t *testing.T, retriesOff bool) *proxytest.Leg {
	t.Helper()
	o := proxytest.Options(t, nginx.Describe())
	o.RetriesOff = retriesOff
	return proxytest.Start(t, nginx.Describe(), o)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkReload(b *testing.B) { proxytest.Benchmark(b, nginx.Describe(), 3, 50) }
