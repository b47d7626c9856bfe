package redis_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// front is one address for whichever server is the master, as a Service is.
type front struct {
	net.Listener
	mu    sync.Mutex
	to    string
	conns map[net.Conn]bool
	done  sync.WaitGroup
}

func newFront(t *testing.T, to string) *front {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{Listener: l, to: to, conns: map[net.Conn]bool{}}
	f.done.Go(f.serve)
	t.Cleanup(func() {
		_ = l.Close()
		f.turn("")
		f.done.Wait()
	})
	return f
}

func (f *front) serve() {
	for {
		in, err := f.Accept()
		if err != nil {
			return
		}
		f.done.Go(func() { f.join(in) })
	}
}

func (f *front) join(in net.Conn) {
	defer f.drop(in)
	out, err := net.Dial("tcp", f.keep(in))
	if err != nil {
		return
	}
	f.keep(out)
	f.done.Go(func() {
		defer f.drop(in)
		_, _ = io.Copy(in, out)
	})
	defer f.drop(out)
	_, _ = io.Copy(out, in)
}

// keep notes a connection, and returns where to connect to.
func (f *front) keep(c net.Conn) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns[c] = true
	return f.to
}

func (f *front) drop(c net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
	_ = c.Close()
}

// turn ends all connections; new ones go to another server, or nowhere.
func (f *front) turn(to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to = to
	for c := range f.conns {
		_ = c.Close()
	}
}
