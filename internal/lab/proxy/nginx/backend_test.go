package nginx_test

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/proxytest"
)

// listen takes the place of a backend, at its address.
func listen(t *testing.T, l *proxytest.Leg, b proxy.Backend) net.Listener {
	t.Helper()
	l.Run(b)
	l.Kill(b) // its address stays
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", netip.AddrPortFrom(b.Address, proxy.BackendPort).String())
	must(t, err)
	return listener
}

// slow is a backend that says when it is asked, and answers once released.
func slow(t *testing.T, l *proxytest.Leg, b proxy.Backend) (asked <-chan struct{}, release chan<- struct{}) {
	t.Helper()
	listener := listen(t, l, b)
	came, may := make(chan struct{}), make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(came)
		select {
		case <-may:
		case <-r.Context().Done():
		}
		w.Header().Set(proxy.HeaderBackend, b.Name)
		w.Header().Set(proxy.HeaderRequest, r.Header.Get(proxy.HeaderRequest))
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	return came, may
}

// broken is a backend that closes each connection, and counts them.
func broken(t *testing.T, l *proxytest.Leg, b proxy.Backend) *atomic.Int64 {
	t.Helper()
	listener := listen(t, l, b)
	tries := new(atomic.Int64)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			tries.Add(1)
			_ = connection.Close()
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return tries
}

// The log tells of each try, and of no other: the backends counted them too. Both
// workers are asked, at once and under fresh generations, which have no backend that is
// left alone yet.
func TestAttemptsAreExact(t *testing.T) {
	for name, off := range map[string]bool{"by default": false, "retries off": true} {
		t.Run(name, func(t *testing.T) {
			l := start(t, off)
			healthy := proxytest.Backends(1, 2)
			l.Run(healthy...)
			third, fourth := proxytest.Backend(3), proxytest.Backend(4)
			one, two := broken(t, l, third), broken(t, l, fourth)
			answered, asked := int64(0), 0
			for range 5 {
				l.Tell(append(healthy, third, fourth)...)
				l.Believes(append(healthy, third, fourth)...)
				for _, a := range askTogether(t, l) {
					asked++
					if a.Backend != "" {
						answered++
					}
				}

				tried, err := l.Attempts(t.Context())

				must(t, err)
				logged := int64(0)
				for _, n := range tried {
					logged += int64(n)
				}
				if counted := answered + one.Load() + two.Load(); logged != counted || len(tried) != asked {
					t.Fatalf("%d tries of %d requests in the log; the backends counted %d of %d", logged, len(tried), counted, asked)
				}
			}
			t.Logf("%d requests, %d answered, %d tries in vain", asked, answered, one.Load()+two.Load())
			if one.Load()+two.Load() == 0 {
				t.Error("no try in vain: nothing is shown")
			}
		})
	}
}

// askTogether sends requests side by side.
func askTogether(t *testing.T, l *proxytest.Leg) []proxytest.Answer {
	t.Helper()
	const clients, each = 8, 10
	answers := make([]proxytest.Answer, clients*each)
	var asking sync.WaitGroup
	for c := range clients {
		asking.Go(func() {
			for i := range each {
				var err error
				if answers[c*each+i], err = l.Ask(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			}
		})
	}
	asking.Wait()
	return answers
}
