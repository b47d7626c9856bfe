package proxy

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Conn is a connection that a Relay can poll without keeping a buffer for it.
// A tls.Conn made over a Conn has the same property; one made over a bare
// net.TCPConn has not. At most one goroutine may read.
type Conn struct {
	net.Conn
	raw     syscall.RawConn // nil if there is no descriptor to poll
	unread  []byte
	records *records // of TLS; the reader's
	ticket  *ticket  // nil unless a Server accepted it
	silent  bool     // nothing has been read yet; the reader's
	peer    atomic.Pointer[net.Addr]

	seat   atomic.Pointer[seat] // once it is on a loop
	mu     sync.Mutex
	closed bool

	// descriptor is valid while polling is set, inside a call of raw.Read.
	descriptor uintptr
	polling    bool
}

// Wrap makes a Conn of c, which is usually a *net.TCPConn that was dialled.
// A c that is a Conn already is returned as it is.
func Wrap(c net.Conn) *Conn {
	if c, ok := c.(*Conn); ok {
		return c
	}
	w := &Conn{Conn: c}
	if s, ok := c.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			w.raw = raw
		}
	}
	return w
}

// NetConn is the connection that was wrapped.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// RemoteAddr is the peer's address, or what SetRemoteAddr said.
func (c *Conn) RemoteAddr() net.Addr {
	if peer := c.peer.Load(); peer != nil {
		return *peer
	}
	return c.Conn.RemoteAddr()
}

// SetRemoteAddr says for whom the peer speaks: a preamble may tell.
func (c *Conn) SetRemoteAddr(peer net.Addr) { c.peer.Store(&peer) }

// Read reads what was unread first. It never mixes that with newer bytes.
func (c *Conn) Read(p []byte) (int, error) {
	if c.records == nil {
		return c.read(p)
	}
	n, err := c.read(c.records.room(p))
	c.records.saw(p[:n])
	return n, err
}

func (c *Conn) read(p []byte) (int, error) {
	if len(c.unread) > 0 {
		n := copy(p, c.unread)
		if c.unread = c.unread[n:]; len(c.unread) == 0 {
			c.unread = nil
		}
		return n, nil
	}
	n, err := c.receive(p)
	if n > 0 && c.silent {
		c.silent = false
		c.ticket.speak()
	}
	return n, err
}

// control calls f with the descriptor, which stays open meanwhile. It reports false,
// and calls nothing, where there is none any more, or never was.
func (c *Conn) control(f func(descriptor uintptr)) bool {
	if s := c.seat.Load(); s != nil {
		return s.control(f)
	}
	return c.raw != nil && c.raw.Control(f) == nil
}

func (c *Conn) receive(p []byte) (int, error) {
	if s := c.seat.Load(); s != nil {
		return s.read(p)
	}
	if c.polling {
		return receiveNow(c.descriptor, p)
	}
	return c.Conn.Read(p)
}

// Unread puts a copy of b in front of what is read next: for a peek, or for
// what a parser of a preamble read too far.
func (c *Conn) Unread(b []byte) {
	if len(b) > 0 {
		c.unread = append(append(make([]byte, 0, len(b)+len(c.unread)), b...), c.unread...)
	}
}

// Write writes p to the peer.
func (c *Conn) Write(p []byte) (int, error) {
	if s := c.seat.Load(); s != nil {
		return s.write(p)
	}
	return c.Conn.Write(p)
}

// Close closes the connection, under whoever uses it.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	if s := c.seat.Load(); s != nil {
		return s.close()
	}
	return c.Conn.Close()
}

// SetDeadline is net.Conn's.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline is net.Conn's.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if s := c.seat.Load(); s != nil {
		s.setReadDeadline(t)
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline is net.Conn's.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	if s := c.seat.Load(); s != nil {
		s.setWriteDeadline(t)
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}

// Arrived tells whether bytes have come that nobody has read: more than the peer should
// have sent by now, where a protocol takes turns. It may be called by the reader only.
func (c *Conn) Arrived() bool { return len(c.unread) > 0 || c.heard() }

// CloseWrite ends the stream to the peer and leaves the other one open. The
// error is errors.ErrUnsupported if the connection has no such half.
func (c *Conn) CloseWrite() error {
	if s := c.seat.Load(); s != nil {
		return s.closeWrite()
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Admit says that the startup phase of an accepted connection is over: it
// leaves the budget of those that have not said what they want, and takes one of
// Limits.Connections until its handler returns. False says that none is free:
// the handler tells the peer and returns. Further calls repeat the answer; a
// connection that no Server accepted is always admitted.
func (c *Conn) Admit() bool { return c.ticket == nil || c.ticket.admit() }
