package postgres_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
)

// A client that cannot be reached is noticed; one that has only stopped reading, for
// longer than that even, keeps its session and all that is in it.
func TestUnreachableIsNotSlow(t *testing.T) {
	const volume = 64 << 20
	// A kernel whose socket is full answers nothing for nearly a second, and then probes.
	const silent = 3 * time.Second
	l := loopback(t)
	router, address := serve(t, postgres.Options{Resolver: newEndpoints(l.Addr().String())})
	slow := start(t, address, "bob.orders")
	slowServer := accepted(t, l)
	poured := make(chan error, 1)
	go func() { poured <- pour(slowServer, volume) }()
	eventually(t, "the slow client's window is full", func() bool { return stalled(slowServer) })

	dead := start(t, address, "bob.orders")
	deadServer := accepted(t, l)
	deafen(t, dead)
	if err := pour(deadServer, 1000); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var looks sync.WaitGroup
	looks.Go(func() { postgres.CutUnreachable(router, ctx, 50*time.Millisecond, silent) })
	defer looks.Wait()
	defer stop()
	if _, err := io.Copy(io.Discard, deadServer); err != nil {
		t.Errorf("the server of a dead client is not told: %v", err)
	}
	got, err := io.CopyN(io.Discard, slow, volume)
	if err != nil || <-poured != nil {
		t.Errorf("a slow client is cut after %d bytes: %v", got, err)
	}
}

// accepted is the next session at a server, which has read its startup packet.
func accepted(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadAtLeast(c, make([]byte, 1024), 8); err != nil {
		t.Fatal(err)
	}
	return c
}

// pour sends rows without an end.
func pour(c net.Conn, n int) error {
	row := append([]byte("D\x00\x00\x03\xe7"), make([]byte, 995)...)
	for ; n > 0; n -= len(row) {
		if _, err := c.Write(row[:min(n, len(row))]); err != nil {
			return err
		}
	}
	return nil
}

// stalled tells whether nothing more of what was sent leaves this machine's kernel.
func stalled(c net.Conn) bool {
	var before, after int
	for i, n := range []*int{&before, &after} {
		if i > 0 {
			<-time.After(20 * time.Millisecond) // two looks apart are what shows it
		}
		raw, err := c.(*net.TCPConn).SyscallConn()
		if err != nil {
			return false
		}
		_ = raw.Control(func(fd uintptr) { *n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	}
	return before > 0 && before == after
}

// deafen lets a socket's kernel drop whatever comes in for it.
func deafen(t *testing.T, c net.Conn) {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	nothing := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}}
	program := unix.SockFprog{Len: 1, Filter: &nothing[0]}
	var set error
	if err := raw.Control(func(fd uintptr) {
		set = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program)
	}); err != nil || set != nil {
		t.Fatal(err, set)
	}
}
