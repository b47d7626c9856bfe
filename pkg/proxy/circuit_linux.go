package proxy

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// circuit is a relay on a loop.
type circuit struct {
	relay  *Relay
	loop   *loop
	posted atomic.Bool   // the loop will look at it
	done   chan struct{} // closed when it has left the loop
	sits   bool          // the loop's
}

// newCircuit moves the connections of r to a loop. It returns nil where that
// cannot be: then they are as they were.
func newCircuit(r *Relay) *circuit {
	a, b := polled(r.a.from), polled(r.b.from)
	if r.apart || a == nil || b == nil {
		return nil
	}
	l, err := joinLoop()
	if err != nil {
		return nil
	}
	fdA, fdB := a.duplicate(), b.duplicate()
	const all = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP
	if fdA < 0 || fdB < 0 || l.watch(fdA, all) != nil || l.watch(fdB, all) != nil {
		_, _ = unix.Close(fdA), unix.Close(fdB)
		l.quit()
		return nil
	}
	c := &circuit{relay: r, loop: l, done: make(chan struct{})}
	r.a.circuit, r.b.circuit = c, c
	r.a.in, r.b.in = newSeat(fdA, &r.a), newSeat(fdB, &r.b)
	a.move(r.a.in)
	b.move(r.b.in)
	return c
}

// duplicate returns another descriptor of the connection, or -1.
func (c *Conn) duplicate() int {
	other := -1
	if c.raw != nil {
		_ = c.raw.Control(func(fd uintptr) {
			if n, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
				other = n
			}
		})
	}
	return other
}

// move gives the connection up for a seat with a descriptor of its own. Go's
// poller forgets it, and is not woken by what comes any more.
func (c *Conn) move(s *seat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.closed.Store(c.closed)
	c.seat.Store(s)
	_ = c.Conn.Close()
}

// run carries bytes until both directions are over.
func (c *circuit) run() {
	c.look()
	<-c.done
	c.loop.quit()
}

// look has the loop look at both directions; the circuit must not have left it.
func (c *circuit) look() {
	if c.posted.CompareAndSwap(false, true) {
		c.loop.post(c)
	}
}

// sit lets events find the connections. It runs on the loop.
func (c *circuit) sit() {
	if c.sits {
		return
	}
	c.sits = true
	for _, s := range c.seats() {
		for len(c.loop.seats) <= s.fd {
			c.loop.seats = append(c.loop.seats, nil)
		}
		c.loop.seats[s.fd] = s
	}
}

func (c *circuit) seats() [2]*seat { return [2]*seat{c.relay.a.in, c.relay.b.in} }

// leaveIfOver takes the relay off the loop when both directions are over. It runs
// on the loop.
func (c *circuit) leaveIfOver() {
	if c.relay.a.phase != over || c.relay.b.phase != over || c.relay.a.in.off {
		return
	}
	for _, s := range c.seats() {
		c.loop.seats[s.fd] = nil
		s.release()
	}
	close(c.done)
}
