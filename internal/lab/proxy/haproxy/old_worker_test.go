package haproxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/haproxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/proxytest"
)

// A worker that was replaced serves, and believes, until its last request has ended.
func TestAnOldWorkerBelievesUntilItsRequestEnds(t *testing.T) {
	l := proxytest.Start(t, haproxy.Reload(), proxytest.Options(t, haproxy.Reload()))
	old, next := proxytest.Backend(1), proxytest.Backend(2)
	l.Run(old, next)
	l.Tell(old)
	l.Believes(old)
	l.Reaches(old)
	request := begin(t)

	l.Tell(next)
	both := []netip.Addr{old.Address, next.Address}
	proxytest.Until(t, func(ctx context.Context) error {
		b, err := l.Belief(ctx)
		if err == nil && (!slices.Equal(b.All, both[1:]) || !slices.Equal(b.Some, both)) {
			err = fmt.Errorf("it believes in all %v, some %v; want the old one too", b.All, b.Some)
		}
		return err
	})
	l.Reaches(next)

	if name := request.end(t); name != old.Name {
		t.Errorf("the request that began before the reload is answered by %q, want %s", name, old.Name)
	}
	l.Believes(next)
}

// request is one that a worker waits for the rest of.
type request struct{ net.Conn }

func begin(t *testing.T) request {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", proxy.ListenAddress)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: lab\r\nX-Lab-Request: 999\r\n"); err != nil {
		t.Fatal(err)
	}
	return request{conn}
}

// end sends the rest, and returns who answered.
func (r request) end(t *testing.T) string {
	t.Helper()
	if _, err := io.WriteString(r, "Connection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(r), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.Header.Get(proxy.HeaderBackend)
}
