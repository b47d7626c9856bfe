package postgres_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// balancer is what a Service is to clients: each connection goes to a router that has
// said lately that it is ready.
type balancer struct {
	address string

	mu      sync.Mutex
	routers []*pgtest.Router
	ready   map[*pgtest.Router]bool
	next    int
}

// probeInterval is how often the balancer asks who is ready; that a router is not takes
// it as long to notice.
const probeInterval = 50 * time.Millisecond

// balance starts a balancer, which ends with the test.
func balance(t *testing.T, routers ...*pgtest.Router) *balancer {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{address: l.Addr().String(), routers: routers, ready: map[*pgtest.Router]bool{}}
	b.probe(t)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { b.probing(ctx, t) })
	wg.Go(func() { b.accept(&wg, l) })
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		wg.Wait()
	})
	return b
}

func (b *balancer) probing(ctx context.Context, t *testing.T) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.probe(t) //nolint:contextcheck // it asks within the test's own
		case <-ctx.Done():
			return
		}
	}
}

func (b *balancer) probe(t *testing.T) {
	b.mu.Lock()
	routers := b.routers
	b.mu.Unlock()
	for _, r := range routers {
		status, _ := r.Get(t, "/ready")
		b.mu.Lock()
		b.ready[r] = status == http.StatusOK
		b.mu.Unlock()
	}
}

// add makes the balancer send clients to one more router, too.
func (b *balancer) add(t *testing.T, r *pgtest.Router) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.routers = append(b.routers, r.Ready(t))
}

func (b *balancer) accept(wg *sync.WaitGroup, l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() { forward(client, b.pick()) })
	}
}

// pick returns the address of the ready router whose turn it is, empty for none.
func (b *balancer) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.routers {
		b.next++
		if r := b.routers[b.next%len(b.routers)]; b.ready[r] {
			return r.Address
		}
	}
	return ""
}

// forward carries bytes until both sides have ended, as packets are that a Service only
// sends elsewhere: what ends on one side ends on the other, and nothing else does.
func forward(client net.Conn, to string) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	both := []*net.TCPConn{client.(*net.TCPConn), server.(*net.TCPConn)}
	var wg sync.WaitGroup
	for i, from := range both {
		wg.Go(func() {
			_, _ = io.Copy(both[1-i], from)
			_ = both[1-i].CloseWrite()
		})
	}
	wg.Wait()
}
