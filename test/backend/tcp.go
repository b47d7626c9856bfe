package backend

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
)

// TCP is a running TCP backend: it greets each connection with its name and a
// newline, then sends back what it receives, until the client stops sending.
type TCP struct {
	Name     string
	Addr     netip.AddrPort
	listener net.Listener
	done     sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]struct{} // nil once closed
	served int
}

// StartTCP starts a backend on address, for example "127.0.0.1:0".
func StartTCP(ctx context.Context, name, address string) (*TCP, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("backend %s: %w", name, err)
	}
	b := &TCP{Name: name, Addr: addrPort(l), listener: l, open: make(map[net.Conn]struct{})}
	b.done.Go(b.accept)
	return b, nil
}

// Close ends the backend at once, with open connections, and waits.
func (b *TCP) Close() error {
	err := b.listener.Close()
	b.mu.Lock()
	for conn := range b.open {
		_ = conn.Close()
	}
	b.open = nil
	b.mu.Unlock()
	b.done.Wait()
	return err
}

// Served returns how many connections were accepted so far.
func (b *TCP) Served() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.served
}

func (b *TCP) accept() {
	for {
		conn, err := b.listener.Accept()
		if err != nil {
			return
		}
		if !b.enter(conn) {
			_ = conn.Close()
			return
		}
		b.done.Go(func() { b.serve(conn) })
	}
}

func (b *TCP) enter(conn net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		return false
	}
	b.open[conn] = struct{}{}
	b.served++
	return true
}

func (b *TCP) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		b.mu.Lock()
		delete(b.open, conn)
		b.mu.Unlock()
	}()
	if _, err := fmt.Fprintln(conn, b.Name); err != nil {
		return
	}
	_, _ = io.Copy(conn, conn)
}
