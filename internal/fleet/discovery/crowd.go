package discovery

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// crowd is a listener with a bound on its connections. One more takes the place of the one
// that has been idle the longest; while none is idle, it waits for its turn.
type crowd struct {
	net.Listener
	places chan struct{} // has one element for each connection
	closed chan struct{}
	close  func() error

	mu   sync.Mutex
	idle list.List // of net.Conn, the one that was idle first at the front
	at   map[net.Conn]*list.Element
	full bool // somebody waits for the next that is idle
}

func newCrowd(l net.Listener, most int) *crowd {
	c := &crowd{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{}), at: map[net.Conn]*list.Element{}}
	c.close = sync.OnceValue(func() error {
		close(c.closed)
		return l.Close()
	})
	return c
}

func (c *crowd) Close() error { return c.close() }

func (c *crowd) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case c.places <- struct{}{}:
		return conn, nil
	default:
		c.dismiss()
	}
	select {
	case c.places <- struct{}{}:
		return conn, nil
	case <-c.closed:
		_ = conn.Close()
		return nil, net.ErrClosed
	}
}

// dismiss closes a connection that is idle, now or as soon as one is; whoever reads it
// gives its place back.
func (c *crowd) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.idle.Front(); first != nil {
		_ = first.Value.(net.Conn).Close()
	} else {
		c.full = true
	}
}

// changed is told by the server what becomes of a connection.
func (c *crowd) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.at[conn]; at != nil {
		c.idle.Remove(at)
		delete(c.at, conn)
	}
	switch state {
	case http.StateIdle:
		if c.full {
			_ = conn.Close()
			c.full = false
		}
		c.at[conn] = c.idle.PushBack(conn)
	case http.StateClosed, http.StateHijacked:
		c.full = false
		<-c.places
	default:
	}
}
